package storetest

import (
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
)

// resting is the order of a deletion that rests; held one of a deletion that is held.
func resting(edit uint64) *scheduler.Order {
	return &scheduler.Order{
		Op: scheduler.OrderDelete, Deletion: scheduler.DeletionResting, Source: "s", Body: []byte("{}"),
		Reason: scheduler.ReasonNotFound, Edit: edit, Text: "status 404",
	}
}

func held() *scheduler.Order {
	o := resting(0)
	o.Deletion, o.Hold = scheduler.DeletionHeld, scheduler.HeldForHost
	return o
}

// rested makes a document whose deletion o says.
func (f *fixture) rested(raw string, o *scheduler.Order) scheduler.Link {
	f.Helper()
	l, w := f.put(raw, scheduler.Index)
	c := completion(w)
	c.Next.Indexed, c.Order = true, o
	f.complete(c)
	return l
}

// again completes the URL with another order.
func (f *fixture) again(l scheduler.Link, o *scheduler.Order) {
	f.Helper()
	f.requeue(l, l.Fifo)
	c := completion(f.waiting(l))
	c.Order = o
	f.complete(c)
}

// deletions returns those that a filter selects.
func (f *fixture) deletions(filter scheduler.DeletionFilter) (list []scheduler.StoredDeletion) {
	f.Helper()
	f.must(f.HeldDeletions(f.ctx, filter, func(d scheduler.StoredDeletion) error { list = append(list, d); return nil }))
	return list
}

// deletionOf returns that of a URL, which must have one, as its record says.
func (f *fixture) deletionOf(l scheduler.Link) scheduler.StoredDeletion {
	f.Helper()
	list := f.deletions(scheduler.DeletionFilter{URLs: []string{l.URL.String()}})
	if len(list) != 1 || list[0].Key != l.URL.Key() || list[0].URL != l.URL.String() {
		f.Fatalf("deletions of %s: %+v, want one", l.URL, list)
	}
	if r := f.lookup(l); r.Deletion != list[0].State {
		f.Errorf("record of %s says %q, its deletion is %q", l.URL, r.Deletion, list[0].State)
	}
	return list[0]
}

// reviseDeletions applies one function to the deletions of links.
func (f *fixture) reviseDeletions(fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision, links ...scheduler.Link) ([]scheduler.Place, int) {
	f.Helper()
	places, n, err := f.ReviseDeletions(f.ctx, keysOfLinks(links...), func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if d.URL != r.URL || d.State != r.Deletion {
			f.Errorf("the %s deletion of %s came with the record of %s, which says %q", d.State, d.URL, r.URL, r.Deletion)
		}
		return fn(d, r)
	})
	f.must(err)
	return places, n
}

// move is what reviseDeletions does with all of them.
func move(m scheduler.DeletionMove, hold scheduler.Hold) func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision {
	return func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if m == scheduler.SendDeletion {
			r.Indexed = false
		}
		return &scheduler.Revision{Next: r, Move: m, Hold: hold}
	}
}

func deletionStays(f *fixture) {
	for i, first := range []*scheduler.Order{resting(0), resting(5), held()} {
		l := f.rested(fmt.Sprint("http://a.test/", i), first)
		before := f.deletionOf(l)
		if before.At.IsZero() || !before.Again.IsZero() || before.Seq == 0 {
			f.Errorf("times %v and %v, number %d", before.At, before.Again, before.Seq)
		}
		f.reopen()
		o := *resting(first.Edit)
		o.Reason, o.Text, o.Body = scheduler.ReasonLogin, "a log-in page", []byte(`{"other":1}`)
		f.again(l, &o)
		got := f.deletionOf(l)
		if got.Again.IsZero() {
			f.Error("it is not noted that the URL was asked again")
		}
		want := before
		want.Reason, want.Text, want.Again = o.Reason, o.Text, got.Again
		f.equal("deletion", got, want)
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Resting: 2, Held: 1})
}

func deletionOfEdit(f *fixture) {
	l, other := f.rested("http://a.test/1", held()), f.rested("http://a.test/2", resting(0))
	for _, edit := range []uint64{4, 5, 0} {
		f.again(l, resting(edit))
		got := f.deletionOf(l)
		if got.State != scheduler.DeletionResting || got.Hold != scheduler.NotHeld || got.Edit != edit || got.Seq <= f.deletionOf(other).Seq {
			f.Errorf("the deletion of edit %d is %+v", edit, got)
		}
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Resting: 2})
}

func deletionForgotten(f *fixture) {
	for i, o := range []*scheduler.Order{resting(0), resting(5), held()} {
		for j, order := range []*scheduler.Order{nil, {Op: scheduler.OrderDelete, Body: []byte("{}")}} {
			l := f.rested(fmt.Sprint("http://a.test/", i, j), o)
			f.must(f.Forget(f.ctx, l.URL.Key(), order))
			l = f.rested(fmt.Sprint("http://b.test/", i, j), o)
			f.requeue(l, l.Fifo)
			c := completion(f.waiting(l))
			c.Forget, c.Order = true, order
			f.complete(c)
			f.equal("documents", f.documents(l), 0)
		}
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 6})
	f.equal("deletions", len(f.deletions(scheduler.DeletionFilter{})), 0)
}

func deletionRefused(f *fixture) {
	l, w := f.put("http://a.test/", scheduler.Index)
	before := f.counts()
	forgotten, added := completion(w), completion(w)
	forgotten.Forget, forgotten.Order = true, resting(0)
	added.Order = resting(0)
	added.Order.Op = scheduler.OrderAdd
	for _, c := range []scheduler.Completion{forgotten, added} {
		if _, err := scheduler.CompleteAndWait(f.ctx, f, c); err == nil {
			f.Errorf("Complete with %+v gave no error", c.Order)
		}
	}
	if err := f.Forget(f.ctx, l.URL.Key(), resting(0)); err == nil {
		f.Error("Forget with a deletion that rests gave no error")
	}
	f.equal("Counts", f.counts(), before)
	f.complete(completion(f.waiting(l)))
}

func deletionsMoved(f *fixture) {
	links := []scheduler.Link{f.rested("http://a.test/1", resting(0)), f.rested("http://a.test/2", resting(6)), f.rested("http://a.test/3", held())}
	for _, l := range links {
		before := f.deletionOf(l)
		f.reviseDeletions(move(scheduler.HoldDeletion, scheduler.HeldIll), l)
		want := before
		want.State, want.Hold = scheduler.DeletionHeld, scheduler.HeldIll
		f.equal("held", f.deletionOf(l), want)
		f.reopen()
		f.reviseDeletions(move(scheduler.KeepDeletion, scheduler.HeldForAll), l)
		f.equal("kept", f.deletionOf(l), want)
		f.reviseDeletions(move(scheduler.RestDeletion, scheduler.HeldIll), l)
		got := f.deletionOf(l)
		if got.Seq <= before.Seq {
			f.Errorf("it rests under number %d, want one above %d", got.Seq, before.Seq)
		}
		want.State, want.Hold, want.Seq = scheduler.DeletionResting, scheduler.NotHeld, got.Seq
		f.equal("resting", got, want)
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Resting: 3})
	f.reviseDeletions(move(scheduler.HoldDeletion, scheduler.HeldUnsure), links[2])
	_, n := f.reviseDeletions(move(scheduler.SendDeletion, 0), links...)
	f.equal("changed", n, 3)
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 3})
	f.equal("indexed", f.counts().Indexed, uint64(0))
	f.equal("documents", f.documents(links[0]), 0)
	for _, l := range links {
		if r := f.lookup(l); r.Deletion != scheduler.NoDeletion || r.Indexed {
			f.Errorf("the record of %s says %+v", l.URL, r)
		}
	}
	// What a revision says of the record and of orders is done as well.
	l := f.rested("http://a.test/4", held())
	places, _ := f.reviseDeletions(func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		r.State, r.Source, r.Misses = scheduler.Waiting, scheduler.Follow, 3
		return &scheduler.Revision{Next: r, CancelDeletion: true, Notes: []scheduler.Note{{Name: scheduler.CrawlValue("n"), Value: []byte("1")}}}
	}, l)
	f.equal("places", places, []scheduler.Place{{Source: scheduler.Follow, Host: l.URL.HostKey()}})
	if w := f.waiting(l); w.Record.Misses != 3 || w.Record.Deletion != scheduler.NoDeletion {
		f.Errorf("record = %+v", w.Record)
	}
	v, err := f.Value(f.ctx, scheduler.CrawlValue("n"))
	f.must(err)
	f.equal("note", string(v), "1")
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 3})
}

// deletionsWaiting: URLs that wait keep their place, whatever becomes of their deletions.
func deletionsWaiting(f *fixture) {
	for i, m := range []scheduler.DeletionMove{scheduler.SendDeletion, scheduler.HoldDeletion, scheduler.RestDeletion, scheduler.KeepDeletion} {
		l := f.rested(fmt.Sprint("http://a.test/", i), resting(0))
		f.requeue(l, scheduler.Index)
		w := f.waiting(l)
		places, n := f.reviseDeletions(func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			v := move(m, scheduler.HeldForAll)(d, r)
			v.Next.Misses = 7
			return v
		}, l)
		f.equal("changed", n, 1)
		f.equal("places", len(places), 0)
		got := f.waiting(l)
		if got.Seq != w.Seq || got.Record.Misses != 7 || got.Record.Indexed != (m != scheduler.SendDeletion) {
			f.Errorf("waits as %+v", got)
		}
		for _, bad := range []*scheduler.Revision{{Forget: true, Next: got.Record}, {Next: completion(got).Next}} {
			_, _, err := f.ReviseDeletions(f.ctx, keysOfLinks(l), func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision { return bad })
			if err == nil && m != scheduler.SendDeletion {
				f.Error("a revision took a URL out of its queue")
			}
		}
		f.complete(withOld(got))
	}
}

func deletionsPassed(f *fixture) {
	plain, w := f.put("http://a.test/plain", scheduler.Index)
	f.complete(completion(w))
	waits, _ := f.put("http://a.test/waits", scheduler.Index)
	l := f.rested("http://a.test/1", resting(0))
	calls := 0
	_, n := f.reviseDeletions(func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		calls++
		return &scheduler.Revision{Next: r}
	}, plain, waits, f.link("http://a.test/stranger", scheduler.Index), l, l)
	if n != 1 || calls != 1 {
		f.Errorf("%d changes in %d calls, want one", n, calls)
	}
	_, n = f.reviseDeletions(func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision { return nil }, l)
	f.equal("changed", n, 0)
	f.revise(func(r scheduler.Record) *scheduler.Revision {
		return &scheduler.Revision{Next: r, Move: scheduler.SendDeletion}
	}, l)
	f.equal("outbox after a move in Revise", f.counts().Outbox, scheduler.OutboxCounts{Resting: 1})
}

func deletionsForget(f *fixture) {
	sent, kept := f.rested("http://a.test/1", resting(0)), f.rested("http://a.test/2", held())
	for _, part := range []struct {
		l    scheduler.Link
		move scheduler.DeletionMove
		want scheduler.OutboxCounts
	}{{sent, scheduler.SendDeletion, scheduler.OutboxCounts{Waiting: 1, Held: 1}}, {kept, scheduler.KeepDeletion, scheduler.OutboxCounts{Waiting: 1}}} {
		f.reviseDeletions(func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			return &scheduler.Revision{Next: r, Forget: true, Move: part.move}
		}, part.l)
		f.equal("outbox", f.counts().Outbox, part.want)
		if _, err := f.Lookup(f.ctx, part.l.URL.Key()); !errors.Is(err, scheduler.ErrNotFound) {
			f.Errorf("Lookup = %v, want ErrNotFound", err)
		}
		f.equal("documents", f.documents(part.l), len(f.deletions(scheduler.DeletionFilter{})))
	}
}

// deletionsMany is more than fits into one transaction of Badger with the smallest memtables.
func deletionsMany(f *fixture) {
	const n = 2_000
	_, page := f.put("http://a.test/sitemap.xml", scheduler.Index)
	c := completion(page)
	for i := range n {
		c.Links = append(c.Links, f.link(fmt.Sprint("http://a.test/p", i), scheduler.Follow))
	}
	f.complete(c)
	for _, w := range f.queue(placeOfLink(c.Links[0])) {
		f.complete(completion(w))
	}
	f.revise(func(r scheduler.Record) *scheduler.Revision {
		r.Indexed = true
		return &scheduler.Revision{Next: r, Order: resting(uint64(len(r.URL) % 2))}
	}, c.Links...)
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Resting: uint64(n)})
	f.equal("documents", f.documents(c.Links[0]), n)
	var last uint64
	for _, d := range f.deletions(scheduler.DeletionFilter{}) {
		if d.Seq <= last {
			f.Fatalf("number %d comes behind %d", d.Seq, last)
		}
		last = d.Seq
	}
	for _, m := range []scheduler.DeletionMove{scheduler.HoldDeletion, scheduler.RestDeletion, scheduler.SendDeletion} {
		_, changed := f.reviseDeletions(move(m, scheduler.HeldForEdit), c.Links...)
		f.equal("changed", changed, n)
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: uint64(n)})
	f.equal("documents", f.documents(c.Links[0]), 0)
}

// completeChanged: a deletion leaves while its URL is in flight.
func completeChanged(f *fixture) {
	l := f.rested("http://a.test/1", resting(0))
	f.requeue(l, scheduler.Index)
	w := f.waiting(l)
	f.reviseDeletions(move(scheduler.SendDeletion, 0), l)
	before := f.counts()
	c := withOld(w)
	c.Next.Indexed, c.CancelDeletion = true, true
	c.Links = []scheduler.Link{f.link("http://stranger.test/", scheduler.Index)}
	if _, err := scheduler.CompleteAndWait(f.ctx, f, c); !errors.Is(err, scheduler.ErrChanged) {
		f.Errorf("Complete = %v, want ErrChanged", err)
	}
	f.equal("Counts", f.counts(), before)
	c = withOld(f.waiting(l))
	c.Order = &scheduler.Order{Op: scheduler.OrderAdd, Body: []byte("{}")}
	c.Next.Indexed = true
	f.complete(c)
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 1})
	// What becomes of a deletion without the document is not such a change.
	l = f.rested("http://a.test/2", resting(0))
	f.requeue(l, scheduler.Index)
	w = f.waiting(l)
	f.reviseDeletions(move(scheduler.HoldDeletion, scheduler.HeldForAll), l)
	c = withOld(w)
	f.complete(c)
	if d := f.deletionOf(l); d.State != scheduler.DeletionHeld {
		f.Errorf("deletion = %+v", d)
	}
}
