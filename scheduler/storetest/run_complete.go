package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

func completeAll(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	child := f.link("http://b.test/", scheduler.Follow)
	child.Depth = 4
	c := completion(w)
	c.Next.Indexed, c.Next.State, c.Next.NextAt = true, scheduler.Timed, time.Unix(1e9, 5)
	c.Links = []scheduler.Link{child}
	c.Order = &scheduler.Order{Op: scheduler.OrderAdd, Source: "s", Body: []byte("{}")}
	c.Host = &scheduler.HostState{Origin: "http://a.test", NextAt: time.Unix(1e9, 7), Backoff: time.Minute, Errors: 2}
	f.equal("places", f.complete(c), []scheduler.Place{placeOfLink(child)})
	f.equal("record", f.lookup(l), c.Next)
	f.equal("old queue", len(f.queue(c.Taken)), 0)
	f.equal("child's queue", keysOf(f.queue(placeOfLink(child))), keysOfLinks(child))
	h, err := f.Host(f.ctx, l.URL.HostKey())
	f.must(err)
	f.equal("host", h, *c.Host)
	got := f.counts()
	if got.Known != 2 || got.Timed != 1 || got.Indexed != 1 || got.Hosts != 2 || got.Outbox.Waiting != 1 ||
		got.Pending[scheduler.Index] != 0 || got.Pending[scheduler.Follow] != 1 {
		f.Errorf("Counts = %+v", got)
	}
}

func completeWaiting(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	_, second := f.put("http://a.test/2", scheduler.Index)
	c := completion(w)
	c.Next.State = scheduler.Waiting
	f.equal("places", f.complete(c), []scheduler.Place{placeOf(w.Record)})
	if got := f.waiting(l); got.Seq <= second.Seq {
		f.Errorf("Seq = %d, want above %d", got.Seq, second.Seq)
	}
	c = completion(f.waiting(l))
	c.Next.State, c.Next.Source = scheduler.Waiting, scheduler.Follow
	want := c.Taken
	want.Source = scheduler.Follow
	f.equal("places", f.complete(c), []scheduler.Place{want})
	f.equal("new queue", keysOf(f.queue(want)), keysOfLinks(l))
	f.equal("old queue", len(f.queue(c.Taken)), 1)
}

// refused checks that c changes nothing.
func (f *fixture) refused(c scheduler.Completion) {
	f.Helper()
	before := f.counts()
	stranger := f.link("http://stranger.test/", scheduler.Index)
	c.Links = append(c.Links, stranger)
	c.Order = &scheduler.Order{Op: scheduler.OrderDelete}
	c.Host = &scheduler.HostState{Errors: 99}
	if _, err := scheduler.CompleteAndWait(f.ctx, f, c); !errors.Is(err, scheduler.ErrNotFound) {
		f.Errorf("Complete = %v, want ErrNotFound", err)
	}
	f.equal("Counts after a refused completion", f.counts(), before)
	if _, err := f.Lookup(f.ctx, stranger.URL.Key()); !errors.Is(err, scheduler.ErrNotFound) {
		f.Errorf("a refused completion stored its link: %v", err)
	}
	h, err := f.Host(f.ctx, c.Taken.Host)
	f.must(err)
	if h.Errors == 99 {
		f.Error("a refused completion stored its host state")
	}
}

func completeForgotten(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	f.must(f.Forget(f.ctx, l.URL.Key(), nil))
	f.refused(completion(w))
	f.put("http://a.test/1", scheduler.Index)
	f.refused(completion(w))
	if got := f.waiting(l); got.Seq == w.Seq {
		f.Error("a URL that was forgotten and added again has its old Seq")
	}
}

func completeMoved(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	f.timed(w, time.Unix(1e9, 0))
	_, _, err := f.Due(f.ctx, time.Unix(1e9, 0), scheduler.Refresh, 1)
	f.must(err)
	inFlight := f.waiting(l)
	f.requeue(l, scheduler.User)
	f.refused(completion(inFlight))
	f.waiting(l)
}

func completeTwice(f *fixture) {
	_, w := f.put("http://a.test/1", scheduler.Index)
	f.complete(completion(w))
	f.refused(completion(w))
	c := completion(w)
	c.Forget = true
	f.refused(c)
}

func completeWrongPlace(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	other, _ := f.put("http://b.test/", scheduler.Index)
	c := completion(w)
	c.Seq += 1000
	f.refused(c)
	c = completion(w)
	c.Taken.Source = scheduler.Follow
	f.refused(c)
	c = completion(w)
	c.Taken = placeOfLink(other)
	f.refused(c)
	f.equal("queue", keysOf(f.queue(placeOfLink(l))), keysOfLinks(l))
}

func linksKnown(f *fixture) {
	waits, _ := f.put("http://b.test/waits", scheduler.Index)
	rests, w := f.put("http://b.test/rests", scheduler.Index)
	f.complete(completion(w))
	for i, depth := range []uint16{5, 1} {
		_, page := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		c := completion(page)
		for _, l := range []scheduler.Link{waits, rests} {
			l.Depth, l.Alias, l.Fifo, l.Root, l.Referrer = depth, fmt.Sprint("http://a.test/alias", i), scheduler.User, true, "http://x.test/"
			c.Links = append(c.Links, l, l)
		}
		c.Levels = 9
		if places := f.complete(c); len(places) != 0 {
			f.Errorf("places = %v, want none", places)
		}
	}
	for _, l := range []scheduler.Link{waits, rests} {
		want := completion(w).Next
		if l.URL == waits.URL {
			want = f.waiting(l).Record
			f.equal("record in its queue", want, f.lookup(l))
			want.State, want.Class, want.Root = scheduler.Waiting, scheduler.Pending, false
		}
		want.Depth, want.Aliases, want.Referrer = 1, []string{"http://a.test/alias0", "http://a.test/alias1"}, "http://from.test/"
		want.Source, want.Fifo = scheduler.Index, scheduler.Index
		f.equal(l.URL.String(), f.lookup(l), want)
	}
}

func linksDuplicate(f *fixture) {
	_, page := f.put("http://a.test/", scheduler.Index)
	first := f.link("http://b.test/", scheduler.Index)
	second := first
	second.Fifo, second.Depth, second.Alias = scheduler.Follow, 1, "http://a.test/alias"
	c := completion(page)
	c.Links, c.Levels = []scheduler.Link{first, second, first}, 9
	f.equal("places", f.complete(c), []scheduler.Place{placeOfLink(first)})
	f.equal("queue", keysOf(f.queue(placeOfLink(first))), keysOfLinks(first))
	if r := f.lookup(first); r.Depth != 1 || len(r.Aliases) != 1 || r.Fifo != scheduler.Index {
		f.Errorf("record = %+v, want the first link's with the second's depth and alias", r)
	}
}

func linksInFlight(f *fixture) {
	l, inFlight := f.put("http://b.test/", scheduler.Index)
	_, page := f.put("http://a.test/", scheduler.Index)
	c := completion(page)
	said := l
	said.Depth, said.Alias = 1, "http://a.test/alias"
	c.Links, c.Levels = []scheduler.Link{said}, 9
	f.complete(c)
	c = completion(inFlight)
	c.Next.Aliases = []string{"http://c.test/"}
	f.complete(c)
	want := c.Next
	want.Depth, want.Aliases = 1, []string{"http://a.test/alias", "http://c.test/"}
	f.equal("record", f.lookup(l), want)
}

// linksNotJudged checks that these links change nothing, even if their URL is unknown or gone.
func linksNotJudged(f *fixture) {
	var links []scheduler.Link
	for _, l := range []scheduler.Link{f.gone("http://b.test/gone"), f.link("http://b.test/unknown", scheduler.Index)} {
		links = append(links, scheduler.Link{URL: l.URL, Known: l.URL.Key()})
	}
	f.equal("places", f.find("http://a.test/", links...), []scheduler.Place(nil))
	if r := f.lookup(links[0]); !r.Gone {
		f.Error("a URL that is gone is back")
	}
	if known, err := scheduler.Known(f.ctx, f.Store, links[1].Known); err != nil || known {
		f.Errorf("the unknown URL is known: %t, %v", known, err)
	}
}

// linksShutOutInFlight: a URL that was excluded at its depth, while a page reported a shorter one, waits again.
func linksShutOutInFlight(f *fixture) {
	for i, depth := range []uint16{1, 3} { // of the link, whose record says 3
		l, inFlight := f.put(fmt.Sprint("http://b.test/", i), scheduler.Index)
		_, page := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		c := completion(page)
		said := l
		said.Depth = depth
		c.Links, c.Levels = []scheduler.Link{said}, 9
		f.complete(c)
		c = completion(inFlight)
		c.Next.Class, c.Next.Reason, c.Next.State = scheduler.Ignored, scheduler.ReasonCrawlSpace, scheduler.AtRest
		places, again := f.complete(c), depth < l.Depth
		if r := f.lookup(l); (r.State == scheduler.Waiting) != again || r.Depth != depth || (len(places) > 0) != again {
			f.Errorf("with a link of depth %d: state %v, depth %d, places %v; waits again: want %t", depth, r.State, r.Depth, places, again)
		}
	}
}

// linksNearer: a page whose own links were too deep waits again, to be read in full, when a shorter way to it brings
// them within the levels that are crawled.
func linksNearer(f *fixture) {
	for i, c := range []struct {
		was, depth, levels uint16
		again              bool
	}{{3, 2, 4, true}, {3, 1, 3, true}, {3, 2, 3, false}, {2, 1, 4, false}, {3, 0, 0, false}, {2, 2, 3, false}} {
		l, read := f.put(fmt.Sprint("http://b.test/", i), scheduler.Index)
		done := completion(read)
		done.Next.Class, done.Next.State, done.Next.Depth, done.Next.RulesVersion = scheduler.OK, scheduler.AtRest, c.was, 7
		f.complete(done)
		_, page := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		said := completion(page)
		l.Depth = c.depth
		said.Links, said.Levels = []scheduler.Link{l}, c.levels
		places := f.complete(said)
		r := f.lookup(l)
		if (r.State == scheduler.Waiting) != c.again || (r.RulesVersion == 0) != c.again || (len(places) > 0) != c.again {
			f.Errorf("%+v: state %v, version %d, places %v", c, r.State, r.RulesVersion, places)
		}
	}
}

func linkToSelf(f *fixture) {
	l, w := f.put("http://a.test/", scheduler.Index)
	c := completion(w)
	self := l
	self.Depth = 4
	c.Links = []scheduler.Link{self}
	if places := f.complete(c); len(places) != 0 {
		f.Errorf("places = %v, want none", places)
	}
	f.equal("record", f.lookup(l), c.Next)
	f.equal("queue", len(f.queue(c.Taken)), 0)
}

// linksMany exceeds one transaction of Badger with the smallest memtables.
func linksMany(f *fixture) {
	const n = 8_000
	_, page := f.put("http://a.test/sitemap.xml", scheduler.Index)
	c := completion(page)
	for i := range n {
		c.Links = append(c.Links, f.link(fmt.Sprint("http://a.test/p", i), scheduler.Follow))
	}
	p := placeOfLink(c.Links[0])
	f.equal("places", f.complete(c), []scheduler.Place{p})
	q := f.queue(p)
	if len(q) != n {
		f.Fatalf("the queue holds %d URLs, want %d", len(q), n)
	}
	for i, w := range q {
		if w.Key != c.Links[i].URL.Key() {
			f.Fatalf("URL %d of the queue is %s, want the order of the page", i, w.Record.URL)
		}
	}
}

func forgetStatus(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	c := completion(w)
	c.Forget = true
	f.complete(c)
	if _, err := f.Lookup(f.ctx, l.URL.Key()); !errors.Is(err, scheduler.ErrNotFound) {
		f.Errorf("Lookup = %v, want ErrNotFound", err)
	}
	f.equal("queue", len(f.queue(c.Taken)), 0)
	if got := f.counts(); got.Known != 0 || got.Hosts != 1 {
		f.Errorf("Counts = %+v, want no URL and one host", got)
	}
	f.reopen()
	_, page := f.put("http://b.test/", scheduler.Index)
	c = completion(page)
	l.Fifo = scheduler.Follow
	c.Links = []scheduler.Link{l}
	f.equal("places", f.complete(c), []scheduler.Place{placeOfLink(l)})
	if r := f.waiting(l).Record; r.Class != scheduler.Pending || r.Settled {
		f.Errorf("record = %+v, want that of a new URL", r)
	}
}

// orders completes w again and again, each time with one order, and expects the
// outbox counts after each. What waits stays beside a pending loss.
func orderReplaces(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	add, gone := &scheduler.Order{Op: scheduler.OrderAdd, Body: []byte("{}")}, &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("{}")}
	for i, step := range []struct {
		o    *scheduler.Order
		want scheduler.OutboxCounts
	}{
		{add, scheduler.OutboxCounts{Waiting: 1}},
		{replacing(0), scheduler.OutboxCounts{Waiting: 1, Pending: 1}},
		{replacing(0), scheduler.OutboxCounts{Waiting: 1, Pending: 1}},
		{gone, scheduler.OutboxCounts{Waiting: 1}},
		{leaving(0), scheduler.OutboxCounts{Waiting: 1, Pending: 1}},
		{add, scheduler.OutboxCounts{Waiting: 1}},
		{leaving(7), scheduler.OutboxCounts{Waiting: 1, Pending: 1}},
		{add, scheduler.OutboxCounts{Waiting: 1}},
	} {
		c := completion(w)
		c.Next.State, c.Order = scheduler.Waiting, step.o
		f.complete(c)
		f.equal(fmt.Sprint("outbox after order ", i), f.counts().Outbox, step.want)
		w = f.waiting(l)
		f.equal(fmt.Sprint("loss pending after order ", i), w.Record.LossPending, step.o.Loss != nil)
	}
}

// orderBesideMove: a document stands beside a loss of ReasonTarget, unless it cancels that; all else replaces it.
func orderBesideMove(f *fixture) {
	moves := func(edit uint64) *scheduler.Order {
		o := leaving(edit)
		o.Reason, o.Body = scheduler.ReasonTarget, nil
		return o
	}
	add, gone := &scheduler.Order{Op: scheduler.OrderAdd, Body: []byte("{}")}, &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("{}")}
	l, w := f.put("http://a.test/1", scheduler.Index)
	for i, step := range []struct {
		o               *scheduler.Order
		cancel, pending bool
	}{{moves(3), false, true}, {add, false, true}, {moves(4), false, true}, {add, false, true}, {add, true, false}, {moves(4), false, true}, {replacing(0), false, true}, {add, false, false}, {moves(4), false, true}, {gone, false, false}} {
		c := completion(w)
		c.Next.State, c.Next.Indexed, c.Order, c.CancelDeletion = scheduler.Waiting, true, step.o, step.cancel
		f.complete(c)
		w = f.waiting(l)
		f.equal(fmt.Sprint("loss pending after order ", i), w.Record.LossPending, step.pending)
		f.equal(fmt.Sprint("pending after order ", i), f.counts().Outbox.Pending == 1, step.pending)
	}
}

func cancelDeletion(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	c := completion(w)
	again := func(o *scheduler.Order, cancel bool) {
		c.Next.State, c.Order, c.CancelDeletion = scheduler.Waiting, o, cancel
		f.complete(c)
		c = completion(f.waiting(l))
	}
	for _, o := range []*scheduler.Order{replacing(0), leaving(0), leaving(3)} {
		again(o, false)
		again(nil, false)
		f.equal("loss pending after a page that does not mention it", f.lookup(l).LossPending, true)
		again(nil, true)
		f.equal("outbox after cancelling", f.counts().Outbox, scheduler.OutboxCounts{})
		f.equal("loss pending after cancelling", f.lookup(l).LossPending, false)
	}
	again(&scheduler.Order{Op: scheduler.OrderAdd, Body: []byte("{}")}, false)
	again(nil, true)
	f.equal("outbox after cancelling a loss that is not pending", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 1})
}
