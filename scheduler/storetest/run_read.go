package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

// The goroutines of these tests read and write one store at once; each test waits for its
// own.

func queueOrder(f *fixture) {
	var links []scheduler.Link
	for i := range 10 {
		l, _ := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		links = append(links, l)
	}
	p := placeOfLink(links[0])
	f.equal("queue", keysOf(f.queue(p)), keysOfLinks(links...))
	var after uint64
	for i := 0; i < 10; i += 3 {
		q, err := f.Queue(f.ctx, p, after, 3)
		f.must(err)
		f.equal("batch", keysOf(q), keysOfLinks(links[i:min(i+3, 10)]...))
		for _, w := range q {
			if w.Seq <= after || w.Record.Seq != w.Seq {
				f.Errorf("Seq = %d and %d in the record, want equal and above %d", w.Seq, w.Record.Seq, after)
			}
			after = w.Seq
		}
	}
	q, err := f.Queue(f.ctx, p, after, 3)
	f.must(err)
	f.equal("behind the end", len(q), 0)
}

func queueInFlight(f *fixture) {
	first, w := f.put("http://a.test/1", scheduler.Index)
	second, _ := f.put("http://a.test/2", scheduler.Index)
	third, _ := f.put("http://a.test/3", scheduler.Index)
	q, err := f.Queue(f.ctx, placeOf(w.Record), w.Seq, 10)
	f.must(err)
	f.equal("behind the one in flight", keysOf(q), keysOfLinks(second, third))
	f.complete(completion(f.waiting(second)))
	f.equal("again from the start", keysOf(f.queue(placeOf(w.Record))), keysOfLinks(first, third))
}

func queueApart(f *fixture) {
	var links []scheduler.Link
	for _, host := range []string{"http://a.test", "http://b.test", "https://a.test", "http://a.test:81"} {
		for s := scheduler.User; s < scheduler.Refresh; s++ {
			l, _ := f.put(fmt.Sprint(host, "/", s), s)
			links = append(links, l)
		}
	}
	for _, l := range links {
		f.equal(l.URL.String(), keysOf(f.queue(placeOfLink(l))), keysOfLinks(l))
	}
	f.equal("hosts", f.counts().Hosts, uint64(4))
}

func dueOrder(f *fixture) {
	t0 := time.Unix(1e9, 0)
	at := []time.Duration{5 * time.Second, time.Second, 3 * time.Second, 3*time.Second + 1}
	var links []scheduler.Link
	for i, d := range at {
		l, w := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		f.timed(w, t0.Add(d))
		links = append(links, l)
	}
	p := placeOfLink(links[0])
	p.Source = scheduler.Refresh
	due := func(now time.Duration, n int, moved bool, next time.Time, queued ...int) {
		f.Helper()
		places, got, err := f.Due(f.ctx, t0.Add(now), scheduler.Refresh, n)
		f.must(err)
		if !got.Equal(next) || (len(places) == 1) != moved || moved && places[0] != p {
			f.Errorf("Due(+%v, %d) = %v, %v; want next %v", now, n, places, got, next)
		}
		var want []scheduler.Link
		for _, i := range queued {
			want = append(want, links[i])
		}
		f.equal("queue", keysOf(f.queue(p)), keysOfLinks(want...))
	}
	due(0, 10, false, t0.Add(time.Second))
	due(3*time.Second, 1, true, t0.Add(3*time.Second), 1)
	due(3*time.Second, 10, true, t0.Add(3*time.Second+1), 1, 2)
	due(time.Minute, 10, true, time.Time{}, 1, 2, 3, 0)
	due(time.Minute, 10, false, time.Time{}, 1, 2, 3, 0)
}

func dueSource(f *fixture) {
	for i, c := range []struct {
		class   scheduler.Class
		errors  int
		refresh scheduler.Source
		want    scheduler.Source
	}{
		{scheduler.Pending, 0, scheduler.Refresh, scheduler.Follow},
		{scheduler.Temporary, 1, scheduler.Refresh, scheduler.Follow},
		{scheduler.Temporary, 0, scheduler.Refresh, scheduler.Refresh},
		{scheduler.OK, 0, scheduler.Refresh, scheduler.Refresh},
		{scheduler.Permanent, 0, scheduler.Index, scheduler.Index},
		{scheduler.Redirect, 0, scheduler.Index, scheduler.Index},
	} {
		l, w := f.put(fmt.Sprint("http://a.test/", i), scheduler.Follow)
		done := completion(w)
		done.Next.State, done.Next.NextAt = scheduler.Timed, time.Unix(1e9, 0)
		done.Next.Class, done.Next.Errors = c.class, c.errors
		f.complete(done)
		places, _, err := f.Due(f.ctx, time.Unix(1e9, 0), c.refresh, 1)
		f.must(err)
		want := placeOf(w.Record)
		want.Source = c.want
		f.equal("places", places, []scheduler.Place{want})
		if got := f.waiting(l).Record; got.Source != c.want || got.Fifo != scheduler.Follow {
			f.Errorf("case %d: waits in %d (fifo %d), want %d and fifo kept", i, got.Source, got.Fifo, c.want)
		}
	}
}

func (f *fixture) places() []scheduler.Place {
	f.Helper()
	var all []scheduler.Place
	f.must(f.Places(f.ctx, func(p scheduler.Place, _ uint64) error {
		all = append(all, p)
		return nil
	}))
	return all
}

func placesAll(f *fixture) {
	f.equal("places of an empty store", len(f.places()), 0)
	a, _ := f.put("http://a.test/1", scheduler.Index)
	f.put("http://a.test/2", scheduler.Index)
	b, _ := f.put("http://a.test/3", scheduler.Follow)
	c, w := f.put("http://b.test/", scheduler.User)
	f.equal("places", f.places(), []scheduler.Place{placeOfLink(a), placeOfLink(b), placeOfLink(c)})
	f.complete(completion(w))
	f.equal("places", f.places(), []scheduler.Place{placeOfLink(a), placeOfLink(b)})
	f.reopen()
	f.equal("places after reopening", f.places(), []scheduler.Place{placeOfLink(a), placeOfLink(b)})
}

func placesError(f *fixture) {
	f.put("http://a.test/", scheduler.Index)
	f.put("http://b.test/", scheduler.Index)
	enough, calls := errors.New("enough"), 0
	err := f.Places(f.ctx, func(scheduler.Place, uint64) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		f.Errorf("Places = %v after %d calls, want fn's error after one", err, calls)
	}
}

func hostState(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	h, err := f.Host(f.ctx, l.URL.HostKey())
	f.must(err)
	if !h.NextAt.IsZero() || h.Backoff != 0 || h.Errors != 0 {
		f.Errorf("Host = %+v before its first outcome", h)
	}
	h, err = f.Host(f.ctx, weburl.HostKey{1})
	f.must(err)
	f.equal("unknown host", h, scheduler.HostState{})
	want := scheduler.HostState{Origin: "http://a.test", NextAt: time.Unix(1e9, 123456789), Backoff: 3 * time.Second, Errors: 4,
		Delay: 20 * time.Second, Responses: 0x3ff, Ill: true, IllSince: time.Unix(1e9, 8), Goods: [5]weburl.Key{{1}, {2}, {3}, {4}, {5}}}
	c := completion(w)
	c.Host = &want
	f.complete(c)
	f.reopen()
	h, err = f.Host(f.ctx, l.URL.HostKey())
	f.must(err)
	f.equal("host", h, want)
}

func lookupUnknown(f *fixture) {
	if _, err := f.Lookup(f.ctx, weburl.Key{1}); !errors.Is(err, scheduler.ErrNotFound) {
		f.Errorf("Lookup = %v, want ErrNotFound", err)
	}
	l, w := f.put("http://a.test/known", scheduler.Index)
	for k, want := range map[weburl.Key]bool{{1}: false, l.URL.Key(): true} {
		if got, err := scheduler.Known(f.ctx, f.Store, k); err != nil || got != want {
			f.Errorf("Known = %t, %v, want %t", got, err, want)
		}
	}
	f.complete(completion(w))
	if got, err := scheduler.Known(f.ctx, f.Store, l.URL.Key()); err != nil || !got {
		f.Errorf("Known = %t, %v, once it was fetched", got, err)
	}
}

// fullRecord has every field set, so that a new field that a store does not keep
// is noticed here.
func fullRecord(f *fixture, w scheduler.WaitingURL) scheduler.Record {
	f.Helper()
	r := scheduler.Record{
		URL: w.Record.URL, Host: w.Record.Host, Origin: w.Record.Origin,
		State: scheduler.Timed, Source: scheduler.Redir, Fifo: scheduler.Follow, Seq: w.Seq, NextAt: time.Unix(1e9, 1),
		Root: true, Shift: -2, Depth: 3, Hops: 2, Referrer: "http://r.test/ü", Aliases: []string{"http://x.test/", "http://y.test/"},
		Class: scheduler.Temporary, Status: 503, Errors: 3, FirstErrorAt: time.Unix(1e9, 2), LastError: "no\nanswer", Settled: true,
		FetchedAt: time.Unix(1e9, 3), ETag: `W/"x"`, LastModified: "lm", Date: "d", Interval: 36 * time.Hour,
		Indexed: true, Hash: [16]byte{1, 15: 2}, PushedSource: "web", RedirectTo: "http://to.test/", DuplicateOf: "http://dup.test/",
		RulesVersion: 1<<63 + 5, HostSpelling: "A.test", Kind: scheduler.KindFeed,
		CheckedAt: time.Unix(1e9, 4), History: scheduler.History{Checks: 9, Changes: 4, Quiet: time.Hour, Busy: time.Minute},
		Directives: scheduler.NoFollow | scheduler.NoArchive, UnavailableAt: time.Unix(1e9, 5), Signature: "a signature\x00\xff", Overlap: 97,
		FoundAt: time.Unix(1e9, 0), ClassAt: time.Unix(1e9+1, 0), ChangedAt: time.Unix(1e9+2, 0), Was: scheduler.OK,
		Fault: fault.Reset, MediaType: "application/x-unheard-of", Linked: true, Entered: true,
		Reason: scheduler.ReasonServerError, Misses: 255, Gone: true, Fragment: "part", LossPending: true, LostAt: time.Unix(1e9+3, 0),
		Sketch: sketch.Sketch{Minima: [sketch.Bins]uint8{3, 31: 255}, Title: 1 << 31}, Before: sketch.Sketch{Title: 7}, Reading: 0xff01, MetasHash: 0xfe0201, Lively: 3,
	}
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			f.Errorf("this test sets no %s", v.Type().Field(i).Name)
		}
	}
	return r
}

func recordFields(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	c := completion(w)
	c.Next = fullRecord(f, w)
	c.Order = replacing(0)
	f.complete(c)
	f.equal("record", f.lookup(l), c.Next)
	f.reopen()
	f.equal("record after reopening", f.lookup(l), c.Next)
	_, _, err := f.Due(f.ctx, time.Unix(1e9, 1), scheduler.Refresh, 1)
	f.must(err)
	want := c.Next
	want.State, want.Source = scheduler.Waiting, scheduler.Refresh // its loss is pending
	f.equal("record in its queue", f.waiting(l).Record, want)
}

func forget(f *fixture) {
	if err := f.Forget(f.ctx, weburl.Key{1}, nil); !errors.Is(err, scheduler.ErrNotFound) {
		f.Errorf("Forget of an unknown URL = %v, want ErrNotFound", err)
	}
	waits, _ := f.put("http://a.test/waits", scheduler.Index)
	timed, w := f.put("http://a.test/timed", scheduler.Index)
	f.timed(w, time.Unix(1e9, 0))
	rests, w := f.put("http://a.test/rests", scheduler.Index)
	c := completion(w)
	c.Next.Indexed = true
	f.complete(c)
	for _, l := range []scheduler.Link{waits, timed, rests} {
		f.must(f.Forget(f.ctx, l.URL.Key(), nil))
		if _, err := f.Lookup(f.ctx, l.URL.Key()); !errors.Is(err, scheduler.ErrNotFound) {
			f.Errorf("Lookup of %s = %v, want ErrNotFound", l.URL, err)
		}
	}
	f.equal("places", len(f.places()), 0)
	_, next, err := f.Due(f.ctx, time.Unix(2e9, 0), scheduler.Refresh, 10)
	f.must(err)
	if !next.IsZero() {
		f.Errorf("Due names %v, want nothing", next)
	}
	if got := f.counts(); got.Known != 0 || got.Timed != 0 || got.Indexed != 0 || got.Pending != [scheduler.Sources]uint64{} {
		f.Errorf("Counts = %+v", got)
	}
	f.put("http://a.test/rests", scheduler.Index)
	f.must(f.Forget(f.ctx, rests.URL.Key(), &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("{}")}))
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 1})
}

func inspectFilters(f *fixture) {
	var all []scheduler.Record
	for i, host := range []string{"http://a.test/", "http://b.test/"} {
		for s := scheduler.Index; s <= scheduler.Follow; s++ {
			l, w := f.put(fmt.Sprint(host, s), s)
			if i == 1 {
				c := completion(w)
				c.Next.Class, c.Next.Status = scheduler.Permanent, 400+int(s)
				f.complete(c)
			}
			all = append(all, f.lookup(l))
		}
	}
	host, source, class := all[0].Host, scheduler.Index, scheduler.Permanent
	for _, filter := range []scheduler.Filter{
		{}, {Host: &host}, {Source: &source}, {Class: &class}, {Status: 404},
		{Host: &host, Source: &source}, {Host: &host, Class: &class}, {Class: &class, Status: 402},
	} {
		got, want := map[string]scheduler.Record{}, map[string]scheduler.Record{}
		for _, r := range all {
			if selects(filter, r) {
				want[r.URL] = r
			}
		}
		f.must(f.Inspect(f.ctx, filter, func(k weburl.Key, r scheduler.Record) error {
			if u, err := weburl.Parse(r.URL); err != nil || u.Key() != k {
				f.Errorf("key %v belongs to %q", k, r.URL)
			}
			if _, twice := got[r.URL]; twice {
				f.Errorf("%s twice", r.URL)
			}
			got[r.URL] = r
			return nil
		}))
		f.equal(fmt.Sprintf("Inspect(%+v)", filter), got, want)
	}
}

func inspectFrom(f *fixture) {
	var keys []weburl.Key
	for i := range 20 {
		l, _ := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		keys = append(keys, l.URL.Key())
	}
	slices.SortFunc(keys, func(a, b weburl.Key) int { return slices.Compare(a[:], b[:]) })
	for _, from := range []int{0, 7, 19} {
		next := from
		f.must(f.Inspect(f.ctx, scheduler.Filter{From: keys[from]}, func(k weburl.Key, _ scheduler.Record) error {
			if next == len(keys) || k != keys[next] {
				f.Fatalf("from key %d: key %s came at position %d", from, k, next)
			}
			next++
			return nil
		}))
		f.equal("keys", next, len(keys))
	}
}

func inspectError(f *fixture) {
	f.put("http://a.test/1", scheduler.Index)
	f.put("http://a.test/2", scheduler.Index)
	enough, calls := errors.New("enough"), 0
	err := f.Inspect(f.ctx, scheduler.Filter{}, func(weburl.Key, scheduler.Record) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		f.Errorf("Inspect = %v after %d calls, want fn's error after one", err, calls)
	}
}

func values(f *fixture) {
	named := scheduler.CrawlValue
	get := func(name scheduler.ValueName, want string) {
		f.Helper()
		v, err := f.Value(f.ctx, name)
		f.must(err)
		if string(v) != want {
			f.Errorf("Value(%q) = %q, want %q", name, v, want)
		}
	}
	if v, err := f.Value(f.ctx, named("never")); v != nil || err != nil {
		f.Errorf("Value of a name never set = %v, %v; want nil", v, err)
	}
	host, url := weburl.HostKey{'a'}, weburl.Key{'a'}
	f.must(f.SetValue(f.ctx, named("a"), []byte("1")))
	f.must(f.SetValue(f.ctx, named("ab"), []byte("2")))
	f.must(f.SetValue(f.ctx, scheduler.PartValue(0, "a"), []byte("of the part")))
	f.must(f.SetValue(f.ctx, scheduler.HostValue(host, "a"), []byte("of the host")))
	f.must(f.SetValue(f.ctx, scheduler.URLValue(url, "a"), []byte("of the URL")))
	get(named("a"), "1")
	f.must(f.SetValue(f.ctx, named("a"), []byte("3")))
	f.must(f.SetValue(f.ctx, named("empty"), []byte{}))
	f.must(f.SetValue(f.ctx, named("gone"), []byte("4")))
	f.must(f.SetValue(f.ctx, named("gone"), nil))
	f.must(f.SetValue(f.ctx, named("never"), nil))
	f.reopen()
	get(named("a"), "3")
	get(named("ab"), "2")
	get(scheduler.PartValue(0, "a"), "of the part")
	get(scheduler.HostValue(host, "a"), "of the host")
	get(scheduler.URLValue(url, "a"), "of the URL")
	for name, isNil := range map[string]bool{"empty": false, "gone": true, "never": true} {
		if v, err := f.Value(f.ctx, named(name)); len(v) > 0 || (v == nil) != isNil || err != nil {
			f.Errorf("Value(%q) = %#v, %v", name, v, err)
		}
	}
}

func closedCleanly(f *fixture) {
	f.reopen()
	if !f.ClosedCleanly() {
		f.Error("ClosedCleanly = false after Close")
	}
}

func reopened(f *fixture) {
	t0 := time.Unix(1e9, 0)
	waits, _ := f.put("http://a.test/waits", scheduler.Index)
	last, lastWaiting := f.put("http://a.test/last", scheduler.Index)
	timed, w := f.put("http://b.test/timed", scheduler.Follow)
	f.timed(w, t0)
	_, w = f.put("http://b.test/rests", scheduler.Follow)
	c := completion(w)
	c.Order = replacing(0)
	f.complete(c)
	before := f.counts()
	f.reopen()
	f.equal("Counts", f.counts(), before)
	f.equal("queue", keysOf(f.queue(placeOfLink(waits))), keysOfLinks(waits, last))
	if got := f.waiting(last).Seq; got != lastWaiting.Seq {
		f.Errorf("Seq = %d, want %d as before", got, lastWaiting.Seq)
	}
	if _, fresh := f.put("http://a.test/fresh", scheduler.Index); fresh.Seq <= lastWaiting.Seq {
		f.Errorf("a new URL has Seq %d, want above %d", fresh.Seq, lastWaiting.Seq)
	}
	_, _, err := f.Due(f.ctx, t0, scheduler.Refresh, 10)
	f.must(err)
	f.waiting(timed)
	f.complete(completion(lastWaiting))
}

// concurrent completes pages of one host from many goroutines, all of which
// find the same links.
func concurrent(f *fixture) {
	const workers, pages = 8, 25
	var shared []scheduler.Link
	for i := range 10 {
		shared = append(shared, f.link(fmt.Sprint("http://shared.test/", i), scheduler.Follow))
	}
	var queued []scheduler.WaitingURL
	for i := range workers * pages {
		_, w := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		queued = append(queued, w)
	}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for j := range pages {
				c := completion(queued[i*pages+j])
				c.Links = shared
				c.Order = &scheduler.Order{Body: []byte("{}")}
				if _, err := scheduler.CompleteAndWait(f.ctx, f, c); err != nil {
					f.Errorf("Complete: %v", err)
				}
				if _, err := f.Queue(f.ctx, c.Taken, 0, 3); err != nil {
					f.Errorf("Queue: %v", err)
				}
			}
		})
	}
	wg.Wait()
	f.equal("queue of the links", len(f.queue(placeOfLink(shared[0]))), len(shared))
	f.equal("outbox", f.counts().Outbox.Waiting, uint64(workers*pages))
	f.equal("known", f.counts().Known, uint64(workers*pages+len(shared)))
}
