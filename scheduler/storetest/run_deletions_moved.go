package storetest

import (
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
)

// move describes what reviseDeletions does with all of them.
func move(m scheduler.DeletionMove) func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision {
	return func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if m == scheduler.SendDeletion {
			r.Indexed = d.Replaces
		}
		return &scheduler.Revision{Next: r, Move: m}
	}
}

func deletionsMoved(f *fixture) {
	links := []scheduler.Link{f.losing("http://a.test/1", leaving(0)), f.losing("http://a.test/2", leaving(6)), f.losing("http://a.test/3", replacing(0))}
	for _, l := range links[:2] {
		f.again(l, seenAt(leaving(f.deletionOf(l).Edit), confirmDay))
	}
	f.again(links[2], seenAt(replacing(0), confirmDay))
	for _, l := range links {
		before := f.deletionOf(l)
		f.reviseDeletions(move(scheduler.KeepDeletion), l)
		f.equal("kept", f.deletionOf(l), before)
		f.reviseDeletions(move(scheduler.MarkWell), l)
		f.reopen()
		want := before
		want.WellDay = 2
		f.equal("marked", f.deletionOf(l), want)
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Pending: 3})
	_, n := f.reviseDeletions(move(scheduler.SendDeletion), links...)
	f.equal("changed", n, 3)
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 3})
	f.equal("indexed", f.counts().Indexed, uint64(1))
	f.equal("documents", f.documents(links[0]), 1)
	for i, l := range links {
		if r := f.lookup(l); r.LossPending || r.Indexed != (i == 2) {
			f.Errorf("the record of %s says %+v", l.URL, r)
		}
	}
	// What a revision says of the record and of orders is done as well.
	l := f.losing("http://a.test/4", replacing(0))
	places, _ := f.reviseDeletions(func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		r.State, r.Source, r.Misses = scheduler.Waiting, scheduler.Follow, 3
		return &scheduler.Revision{Next: r, CancelDeletion: true}
	}, l)
	f.equal("places", places, []scheduler.Place{{Source: scheduler.Follow, Host: l.URL.HostKey()}})
	if w := f.waiting(l); w.Record.Misses != 3 || w.Record.LossPending {
		f.Errorf("record = %+v", w.Record)
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: 3})
}

// deletionsWaiting: URLs that wait keep their place, whatever becomes of their deletions.
func deletionsWaiting(f *fixture) {
	for i, m := range []scheduler.DeletionMove{scheduler.SendDeletion, scheduler.MarkWell, scheduler.KeepDeletion} {
		l := f.losing(fmt.Sprint("http://a.test/", i), leaving(0))
		f.requeue(l, scheduler.Index)
		w := f.waiting(l)
		places, n := f.reviseDeletions(func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			v := move(m)(d, r)
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
	l := f.losing("http://a.test/1", leaving(0))
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
	f.equal("outbox after a move in Revise", f.counts().Outbox, scheduler.OutboxCounts{Pending: 1})
}

func deletionsForget(f *fixture) {
	sent, kept := f.losing("http://a.test/1", leaving(0)), f.losing("http://a.test/2", replacing(0))
	for _, part := range []struct {
		l    scheduler.Link
		move scheduler.DeletionMove
		want scheduler.OutboxCounts
	}{{sent, scheduler.SendDeletion, scheduler.OutboxCounts{Waiting: 1, Pending: 1}}, {kept, scheduler.KeepDeletion, scheduler.OutboxCounts{Waiting: 1}}} {
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

// deletionsMany causes more deletions than fit into one transaction.
func deletionsMany(f *fixture) {
	n := many()
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
		return &scheduler.Revision{Next: r, Order: leaving(uint64(len(r.URL) % 2))}
	}, c.Links...)
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Pending: uint64(n)})
	f.equal("documents", f.documents(c.Links[0]), n)
	var last uint64
	for _, d := range f.deletions(scheduler.DeletionFilter{}) {
		if d.Seq <= last {
			f.Fatalf("number %d follows %d", d.Seq, last)
		}
		last = d.Seq
	}
	for _, m := range []scheduler.DeletionMove{scheduler.MarkWell, scheduler.SendDeletion} {
		_, changed := f.reviseDeletions(move(m), c.Links...)
		f.equal("changed", changed, n)
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: uint64(n)})
	f.equal("documents", f.documents(c.Links[0]), 0)
}

// completeChanged: a loss is carried out while its URL is in flight.
func completeChanged(f *fixture) {
	for i, o := range []*scheduler.Order{leaving(0), replacing(0)} {
		l := f.losing(fmt.Sprint("http://a.test/", i), o)
		f.requeue(l, scheduler.Index)
		w := f.waiting(l)
		f.reviseDeletions(func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			v := move(scheduler.SendDeletion)(d, r)
			v.Next.Hash = d.Hash
			return v
		}, l)
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
		f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Waiting: uint64(i) + 1})
	}
	// What becomes of a loss without the document is not such a change.
	l := f.losing("http://a.test/2", leaving(0))
	f.requeue(l, scheduler.Index)
	w := f.waiting(l)
	f.reviseDeletions(move(scheduler.MarkWell), l)
	f.complete(withOld(w))
	if d := f.deletionOf(l); d.WellDay != 1 {
		f.Errorf("loss = %+v", d)
	}
}
