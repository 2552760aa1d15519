package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// lossSeen is when losses were seen first, confirmDay the time between two visits that count.
var lossSeen = time.Unix(1e9, 0).UTC()

const confirmDay = 24 * time.Hour

// leaving is the order of a pending deletion, replacing that of a pending new text.
func leaving(edit uint64) *scheduler.Order {
	loss := scheduler.NewLoss(true, lossSeen)
	return &scheduler.Order{
		Op: scheduler.OrderDelete, Loss: &loss, Day: confirmDay, Source: "s", Body: []byte("{}"),
		Reason: scheduler.ReasonNotFound, Edit: edit, Text: "status 404",
	}
}

func replacing(edit uint64) *scheduler.Order {
	o := leaving(edit)
	o.Op, o.Reason, o.Text, o.Body = scheduler.OrderAdd, scheduler.ReasonNewText, "another text", []byte(`{"text":"new"}`)
	o.Loss.Explicit, o.Loss.Least = false, scheduler.LossSome
	o.Loss.Hash, o.Loss.Sketch = [16]byte{7}, sketch.Sketch{Minima: [sketch.Bins]uint8{1, 2}, Title: 9}
	return o
}

// seenAt is the order, seen so long after lossSeen.
func seenAt(o *scheduler.Order, after time.Duration) *scheduler.Order {
	loss := *o.Loss
	loss.First, loss.Last, loss.Counted = lossSeen.Add(after), lossSeen.Add(after), lossSeen.Add(after)
	o.Loss = &loss
	return o
}

// losing makes a document with the pending loss o.
func (f *fixture) losing(raw string, o *scheduler.Order) scheduler.Link {
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
	f.must(f.PendingDeletions(f.ctx, filter, func(d scheduler.StoredDeletion) error { list = append(list, d); return nil }))
	return list
}

// deletionOf returns that of a URL, which must have one, as its record says.
func (f *fixture) deletionOf(l scheduler.Link) scheduler.StoredDeletion {
	f.Helper()
	list := f.deletions(scheduler.DeletionFilter{URLs: []string{l.URL.String()}})
	if len(list) != 1 || list[0].Key != l.URL.Key() || list[0].URL != l.URL.String() {
		f.Fatalf("deletions of %s: %+v, want one", l.URL, list)
	}
	if !f.lookup(l).LossPending {
		f.Errorf("the record of %s does not say that a loss is pending", l.URL)
	}
	return list[0]
}

// reviseDeletions applies one function to the deletions of links.
func (f *fixture) reviseDeletions(fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision, links ...scheduler.Link) ([]scheduler.Place, int) {
	f.Helper()
	places, n, err := f.ReviseDeletions(f.ctx, keysOfLinks(links...), func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if d.URL != r.URL || !r.LossPending {
			f.Errorf("the loss of %s came with the record of %s, LossPending %t", d.URL, r.URL, r.LossPending)
		}
		return fn(d, r)
	})
	f.must(err)
	return places, n
}

// move is what reviseDeletions does with all of them.
func move(m scheduler.DeletionMove) func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision {
	return func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if m == scheduler.SendDeletion {
			r.Indexed = d.Replaces
		}
		return &scheduler.Revision{Next: r, Move: m}
	}
}

func deletionStays(f *fixture) {
	for i, first := range []func(uint64) *scheduler.Order{leaving, replacing} {
		for edit := range uint64(2) {
			l := f.losing(fmt.Sprint("http://a.test/", i, edit), first(edit))
			before, o := f.deletionOf(l), first(edit)
			f.equal("loss", before, scheduler.StoredDeletion{
				Key: l.URL.Key(), Seq: before.Seq, URL: l.URL.String(), Source: o.Source, Reason: o.Reason, Edit: edit,
				Replaces: o.Op == scheduler.OrderAdd, Text: o.Text, Loss: *o.Loss,
			})
			f.reopen()
			f.equal("loss after reopening", f.deletionOf(l), before)
		}
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Pending: 4})
}

// deletionSeen: a loss that is seen again keeps its number and what it began with.
func deletionSeen(f *fixture) {
	for i, step := range []struct {
		after        time.Duration
		visits, days uint8
	}{{time.Hour, 2, 1}, {confirmDay - time.Second, 2, 1}, {confirmDay, 2, 2}} {
		l := f.losing(fmt.Sprint("http://a.test/", i), leaving(5))
		before := f.deletionOf(l)
		o := seenAt(leaving(5), step.after)
		o.Reason, o.Text, o.Body = scheduler.ReasonLogin, "a log-in page", []byte(`{"other":1}`)
		o.Loss.Explicit, o.Loss.Least = false, scheduler.LossMost
		f.again(l, o)
		f.reopen()
		want := before
		want.Reason, want.Text = o.Reason, o.Text
		want.Explicit, want.Least, want.Last = false, scheduler.LossMost, o.Loss.Last
		if want.Visits, want.Days = step.visits, step.days; step.days > 1 {
			want.Counted = want.Last
		}
		f.equal("loss", f.deletionOf(l), want)
	}
	// A text in place of a deletion, and the other way round, is the same loss seen again.
	l := f.losing("http://a.test/text", leaving(0))
	before := f.deletionOf(l)
	for i, o := range []*scheduler.Order{replacing(0), leaving(0)} {
		f.again(l, seenAt(o, time.Hour))
		d := f.deletionOf(l)
		if d.Seq != before.Seq || int(d.Visits) != i+2 || !d.First.Equal(lossSeen) || d.Replaces != (i == 0) || d.Hash != o.Loss.Hash || d.Sketch != o.Loss.Sketch {
			f.Errorf("visit %d: %+v", i, d)
		}
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Pending: 4})
}

func deletionOfEdit(f *fixture) {
	l, other := f.losing("http://a.test/1", replacing(0)), f.losing("http://a.test/2", leaving(0))
	for _, edit := range []uint64{4, 5, 0} {
		f.again(l, leaving(edit))
		got := f.deletionOf(l)
		if got.Replaces || got.Edit != edit || got.Visits != 1 || got.Seq <= f.deletionOf(other).Seq {
			f.Errorf("the loss of edit %d is %+v", edit, got)
		}
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Pending: 2})
}

func deletionForgotten(f *fixture) {
	for i, o := range []*scheduler.Order{leaving(0), leaving(5), replacing(0)} {
		for j, order := range []*scheduler.Order{nil, {Op: scheduler.OrderDelete, Body: []byte("{}")}} {
			l := f.losing(fmt.Sprint("http://a.test/", i, j), o)
			f.must(f.Forget(f.ctx, l.URL.Key(), order))
			l = f.losing(fmt.Sprint("http://b.test/", i, j), o)
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
	for _, o := range []*scheduler.Order{leaving(0), replacing(0)} {
		c := completion(w)
		c.Forget, c.Order = true, o
		if _, err := scheduler.CompleteAndWait(f.ctx, f, c); err == nil {
			f.Errorf("Complete with %+v gave no error", o)
		}
		if err := f.Forget(f.ctx, l.URL.Key(), o); err == nil {
			f.Errorf("Forget with %+v gave no error", o)
		}
	}
	f.equal("Counts", f.counts(), before)
	f.complete(completion(f.waiting(l)))
}

func deletionsMoved(f *fixture) {
	links := []scheduler.Link{f.losing("http://a.test/1", leaving(0)), f.losing("http://a.test/2", leaving(6)), f.losing("http://a.test/3", replacing(0))}
	for _, l := range links {
		f.again(l, seenAt(leaving(f.deletionOf(l).Edit), confirmDay))
	}
	f.again(links[2], replacing(0))
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
		return &scheduler.Revision{Next: r, CancelDeletion: true, Notes: []scheduler.Note{{Name: scheduler.CrawlValue("n"), Value: []byte("1")}}}
	}, l)
	f.equal("places", places, []scheduler.Place{{Source: scheduler.Follow, Host: l.URL.HostKey()}})
	if w := f.waiting(l); w.Record.Misses != 3 || w.Record.LossPending {
		f.Errorf("record = %+v", w.Record)
	}
	v, err := f.Value(f.ctx, scheduler.CrawlValue("n"))
	f.must(err)
	f.equal("note", string(v), "1")
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
		return &scheduler.Revision{Next: r, Order: leaving(uint64(len(r.URL) % 2))}
	}, c.Links...)
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{Pending: uint64(n)})
	f.equal("documents", f.documents(c.Links[0]), n)
	var last uint64
	for _, d := range f.deletions(scheduler.DeletionFilter{}) {
		if d.Seq <= last {
			f.Fatalf("number %d comes behind %d", d.Seq, last)
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
