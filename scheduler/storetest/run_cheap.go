package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// The goroutines of these tests write to one store at once; each test waits for its own.

// counted returns the places with their counts.
func (f *fixture) counted() map[scheduler.Place]uint64 {
	f.Helper()
	got := map[scheduler.Place]uint64{}
	f.must(f.Places(f.ctx, func(p scheduler.Place, n uint64) error {
		if _, twice := got[p]; twice {
			f.Errorf("place %v twice", p)
		}
		got[p] = n
		return nil
	}))
	return got
}

func placesCount(f *fixture) {
	a, first := f.put("http://a.test/1", scheduler.Index)
	f.put("http://a.test/2", scheduler.Index)
	b, _ := f.put("http://b.test/", scheduler.User)
	f.equal("two and one", f.counted(), map[scheduler.Place]uint64{placeOfLink(a): 2, placeOfLink(b): 1})
	c := completion(first)
	for i := range 40 {
		c.Links = append(c.Links, f.link(fmt.Sprint("http://c.test/", i), scheduler.Follow))
	}
	f.complete(c)
	want := map[scheduler.Place]uint64{placeOfLink(a): 1, placeOfLink(b): 1, placeOfLink(c.Links[0]): 40}
	f.equal("after links", f.counted(), want)
	f.must(f.Forget(f.ctx, b.URL.Key(), nil))
	delete(want, placeOfLink(b))
	f.reopen()
	f.equal("after reopening", f.counted(), want)
}

// withOld returns a completion with the record that Queue returned.
func withOld(w scheduler.WaitingURL) scheduler.Completion {
	c := completion(w)
	c.Old, c.AsOf = &w.Record, w.AsOf
	return c
}

func floors(f *fixture) {
	var all []scheduler.WaitingURL
	var links []scheduler.Link
	for i := range 10 {
		l, _ := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		links = append(links, l)
	}
	p := placeOfLink(links[0])
	all = f.queue(p)
	// Out of order: the first is done last, so only then may the floor rise beyond it.
	for _, i := range []int{1, 2, 3} {
		c := withOld(all[i])
		c.Floor = all[0].Seq
		f.complete(c)
	}
	f.equal("with the first in flight", keysOf(f.queue(p)), keysOfLinks(append(slices.Clone(links[:1]), links[4:]...)...))
	c := withOld(all[0])
	c.Floor = all[4].Seq
	f.complete(c)
	f.equal("behind the floor", keysOf(f.queue(p)), keysOfLinks(links[4:]...))
	q, err := f.Queue(f.ctx, p, all[5].Seq, 2)
	f.must(err)
	f.equal("from the middle", keysOf(q), keysOfLinks(links[6:8]...))
	f.reopen()
	f.equal("after reopening", keysOf(f.queue(p)), keysOfLinks(links[4:]...))
	// What is queued again stands behind any floor.
	c = withOld(f.queue(p)[0])
	c.Next.State, c.Floor = scheduler.Waiting, all[5].Seq
	f.complete(c)
	f.equal("queued anew", keysOf(f.queue(p)), keysOfLinks(append(slices.Clone(links[5:]), links[4])...))
	// The end of the queue may go first.
	f.complete(withOld(f.waiting(links[9])))
	f.equal("without the end", keysOf(f.queue(p)), keysOfLinks(append(slices.Clone(links[5:9]), links[4])...))
}

func queueEmptied(f *fixture) {
	l, w := f.put("http://a.test/0", scheduler.Index)
	p := placeOfLink(l)
	for i := 1; i <= 5; i++ {
		c := withOld(w)
		c.Floor = w.Seq + 1
		f.complete(c)
		f.equal("empty", len(f.queue(p)), 0)
		f.equal("places", len(f.places()), 0)
		l, w = f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		f.equal("queue", keysOf(f.queue(p)), keysOfLinks(l))
	}
}

func oldStale(f *fixture) {
	l, w := f.put("http://b.test/", scheduler.Index)
	page := func(i int, change func(*scheduler.Link)) {
		_, from := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		c := completion(from)
		said := l
		change(&said)
		c.Links, c.Levels = []scheduler.Link{said}, 9
		f.complete(c)
	}
	page(1, func(l *scheduler.Link) { l.Depth, l.Alias = 1, "http://a.test/alias" })
	c := withOld(w)
	c.Next.Aliases = []string{"http://c.test/"}
	f.complete(c)
	r := f.lookup(l)
	if r.Depth != 1 || !slices.Contains(r.Aliases, "http://a.test/alias") || !slices.Contains(r.Aliases, "http://c.test/") {
		f.Errorf("depth %d, aliases %q: the links found while the URL was in flight are lost", r.Depth, r.Aliases)
	}
	// What was said before the URL was read is in Old.
	_, _, err := f.Add(f.ctx, []scheduler.Link{l}, true)
	f.must(err)
	c = withOld(f.waiting(l))
	c.Next.Depth, c.Next.Aliases = 9, nil
	f.complete(c)
	if r := f.lookup(l); r.Depth != 1 || len(r.Aliases) != 2 {
		f.Errorf("depth %d, aliases %q: the earlier values are lost", r.Depth, r.Aliases)
	}
}

func oldGone(f *fixture) {
	_, w := f.put("http://a.test/1", scheduler.Index)
	f.complete(withOld(w))
	f.refused(withOld(w))
	l, w := f.put("http://a.test/2", scheduler.Index)
	f.must(f.Forget(f.ctx, l.URL.Key(), nil))
	f.refused(withOld(w))
	_, again := f.put("http://a.test/2", scheduler.Index)
	f.refused(withOld(w))
	f.complete(withOld(again))
	// Moved out of the refresh source.
	l, w = f.put("http://a.test/3", scheduler.Index)
	f.timed(w, time.Unix(1e9, 0))
	_, _, err := f.Due(f.ctx, time.Unix(1e9, 0), scheduler.Refresh, 1)
	f.must(err)
	inFlight := f.waiting(l)
	f.requeue(l, scheduler.User)
	f.refused(withOld(inFlight))
	// A record of another place than the completion names.
	wrong := withOld(f.waiting(l))
	wrong.Seq += 1000
	f.refused(wrong)
	f.complete(withOld(f.waiting(l)))
}

func oldReopened(f *fixture) {
	l, _ := f.put("http://a.test/1", scheduler.Index)
	for i := range 20 { // so that a mark of this process is high
		f.put(fmt.Sprint("http://b.test/", i), scheduler.Index)
	}
	w := f.waiting(l)
	f.reopen()
	f.complete(completion(f.waiting(l)))
	f.refused(withOld(w))
}

func depthsNotAsked(f *fixture) {
	l, _ := f.put("http://b.test/", scheduler.Index)
	_, page := f.put("http://a.test/", scheduler.Index)
	c := withOld(page)
	said := l
	said.Depth = 1
	c.Links = []scheduler.Link{said}
	f.complete(c)
	if d := f.lookup(l).Depth; d != l.Depth {
		f.Errorf("depth is %d, want %d: no call asked for shorter ones", d, l.Depth)
	}
}

func aliasesMany(f *fixture) {
	l, _ := f.put("http://b.test/", scheduler.Index)
	var want []string
	for i := range 2 * scheduler.MaxAliases {
		_, page := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		c := withOld(page)
		said := l
		said.Alias = page.Record.URL
		c.Links = []scheduler.Link{said}
		f.complete(c)
		want = append(want, said.Alias)
	}
	f.equal("aliases", f.lookup(l).Aliases, want[:scheduler.MaxAliases])
	c := completion(f.waiting(l))
	c.Next.Aliases = []string{"http://late.test/"}
	f.complete(c)
	f.equal("aliases", f.lookup(l).Aliases, want[:scheduler.MaxAliases])
}

func notes(f *fixture) {
	l, w := f.put("http://a.test/", scheduler.Index)
	c := completion(w)
	c.Notes = []scheduler.Note{{Name: scheduler.CrawlValue("one"), Value: []byte("1")}, {Name: scheduler.CrawlValue("two"), Value: []byte("2")}, {Name: scheduler.CrawlValue("three"), Value: []byte("4")}}
	f.complete(c)
	f.requeue(l, scheduler.Index)
	c = completion(f.waiting(l))
	c.Notes = []scheduler.Note{{Name: scheduler.CrawlValue("two"), Value: []byte("3")}, {Name: scheduler.CrawlValue("three")}}
	f.complete(c)
	stale := completion(w)
	stale.Notes = []scheduler.Note{{Name: scheduler.CrawlValue("one"), Value: []byte("wrong")}}
	f.refused(stale)
	f.reopen()
	for name, want := range map[string]string{"one": "1", "two": "3"} {
		v, err := f.Value(f.ctx, scheduler.CrawlValue(name))
		f.must(err)
		f.equal(name, string(v), want)
	}
	if v, err := f.Value(f.ctx, scheduler.CrawlValue("three")); v != nil || err != nil {
		f.Errorf("a note without a value left %q, %v", v, err)
	}
}

// forgetConcurrent forgets URLs by completions and by the operator while pages that
// link to them are completed: each is in the end known, or unknown and found again.
func forgetConcurrent(f *fixture) {
	const urls, rounds = 8, 30
	var links []scheduler.Link
	for i := range urls {
		links = append(links, f.link(fmt.Sprint("http://b.test/", i), scheduler.Index))
	}
	var pages []scheduler.WaitingURL
	for i := range rounds {
		_, w := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		pages = append(pages, w)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, w := range pages {
			c := withOld(w)
			c.Links = links
			if _, err := scheduler.CompleteAndWait(f.ctx, f, c); err != nil {
				f.Errorf("Complete: %v", err)
			}
		}
	})
	wg.Go(func() {
		for i := range rounds * urls {
			err := f.Forget(f.ctx, links[i%urls].URL.Key(), nil)
			if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
				f.Errorf("Forget: %v", err)
			}
		}
	})
	wg.Wait()
	_, last := f.put("http://a.test/last", scheduler.Index)
	c := withOld(last)
	c.Links = links
	f.complete(c)
	for _, l := range links {
		f.lookup(l)
	}
	f.equal("known", f.counts().Known, uint64(rounds+1+urls))
}

func reviseTwice(f *fixture) {
	l, w := f.put("http://a.test/", scheduler.Index)
	f.complete(completion(w))
	calls := 0
	_, n := f.revise(func(r scheduler.Record) *scheduler.Revision { calls++; return exclude(r) }, l, l)
	if n != 1 || calls != 1 {
		f.Errorf("%d changes in %d calls, want one", n, calls)
	}
}
