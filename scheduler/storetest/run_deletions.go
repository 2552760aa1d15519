package storetest

import (
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// lossSeen is the time when losses were seen first.
func lossSeen() time.Time { return time.Unix(1e9, 0).UTC() }

// confirmDay is the time between two visits that count.
const confirmDay = 24 * time.Hour

// leaving returns the order of a pending deletion, replacing that of a pending new text.
func leaving(edit uint64) *scheduler.Order {
	loss := scheduler.NewLoss(true, lossSeen())
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

// seenAt returns the order, seen so long after lossSeen.
func seenAt(o *scheduler.Order, after time.Duration) *scheduler.Order {
	loss := *o.Loss
	loss.First, loss.Last, loss.Counted = lossSeen().Add(after), lossSeen().Add(after), lossSeen().Add(after)
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
		f.Errorf("the record of %s has no pending loss", l.URL)
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
	// A text in place of a deletion, and the other way round, is another loss: it has not been seen before.
	l := f.losing("http://a.test/text", leaving(0))
	before := f.deletionOf(l)
	for i, o := range []*scheduler.Order{replacing(0), leaving(0)} {
		f.again(l, seenAt(o, time.Hour))
		d := f.deletionOf(l)
		if d.Seq <= before.Seq || d.Visits != 1 || !d.First.Equal(lossSeen().Add(time.Hour)) || d.Replaces != (i == 0) || d.Hash != o.Loss.Hash || d.Sketch != o.Loss.Sketch {
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
