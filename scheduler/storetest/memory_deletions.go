package storetest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

var (
	errMoved = errors.New("a URL that waits must stay where it is")
	errPends = errors.New("only the loss of a URL that stays known can be pending")
)

// deletion is a pending loss. What waits in the outbox of the URL stays there beside it.
type deletion struct {
	scheduler.StoredDeletion
	host  weburl.HostKey
	body  []byte
	moved bool
}

func (n deletion) group() scheduler.DeletionGroup {
	if n.Edit != 0 {
		return scheduler.DeletionGroup{Edit: n.Edit}
	}
	return scheduler.DeletionGroup{Host: n.host}
}

func checkOrder(o *scheduler.Order, forget bool) error {
	if o != nil && o.Loss != nil && forget {
		return errPends
	}
	return nil
}

// send changes what the outbox holds of a URL, and returns whether a loss of it is pending then;
// has says whether one was before.
func (d *contents) send(k weburl.Key, old scheduler.Record, has, cancel bool, o *scheduler.Order) bool {
	if cancel {
		delete(d.deleted, k)
		has = false
	}
	if o == nil {
		return has
	}
	if o.Loss == nil {
		d.outbox[k] = *o
		if has && o.Op == scheduler.OrderAdd && d.deleted[k].Reason == scheduler.ReasonTarget {
			return true
		}
		delete(d.deleted, k)
		return false
	}
	n := deletion{
		StoredDeletion: scheduler.StoredDeletion{
			Key: k, URL: old.URL, Source: o.Source, Reason: o.Reason, Edit: o.Edit, Text: o.Text,
			Replaces: o.Op == scheduler.OrderAdd, Loss: *o.Loss,
		},
		host: old.Host, body: o.Body, moved: o.Moved,
	}
	before, ok := d.deleted[k]
	if ok && before.Edit == o.Edit && before.Replaces == n.Replaces {
		n.Seq, n.Loss = before.Seq, before.Seen(*o.Loss, o.Day)
	} else {
		n.Seq = d.numberOrder()
	}
	d.deleted[k] = n
	return true
}

// numberOrder gives the number of a loss.
func (d *contents) numberOrder() uint64 {
	d.orders++
	return d.orders
}

// move does with a loss what ReviseDeletions was told.
func (d *contents) move(k weburl.Key, old scheduler.Record, m scheduler.DeletionMove) bool {
	n := d.deleted[k]
	switch m {
	case scheduler.KeepDeletion:
		return old.LossPending
	case scheduler.SendDeletion:
		delete(d.deleted, k)
		o := scheduler.Order{Op: scheduler.OrderDelete, Source: n.Source, Body: n.body}
		if n.Replaces {
			o.Op, o.Moved = scheduler.OrderAdd, n.moved
		}
		d.outbox[k] = o
		return false
	case scheduler.MarkWell:
		n.WellDay = n.Days
	}
	d.deleted[k] = n
	return true
}

// ReviseDeletions implements scheduler.Store.
func (m *Memory) ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return m.revise(ctx, keys, func(d *contents, k weburl.Key, r scheduler.Record) *scheduler.Revision {
		n, ok := d.deleted[k]
		if !ok {
			return nil
		}
		return fn(n.StoredDeletion, r)
	})
}

// deletions returns those that are wanted, oldest first.
func (m *Memory) deletions(ctx context.Context, wanted func(deletion) bool) ([]scheduler.StoredDeletion, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	var list []scheduler.StoredDeletion
	for _, n := range d.deleted {
		if wanted(n) {
			list = append(list, n.StoredDeletion)
		}
	}
	slices.SortFunc(list, func(a, b scheduler.StoredDeletion) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, nil
}

// Deletions implements scheduler.Store.
func (m *Memory) Deletions(ctx context.Context, g scheduler.DeletionGroup, fn func(scheduler.StoredDeletion) error) error {
	if g.Edit != 0 {
		g.Host = weburl.HostKey{}
	}
	list, err := m.deletions(ctx, func(n deletion) bool { return n.group() == g })
	return each(list, err, fn)
}

// DeletionGroups implements scheduler.Store.
func (m *Memory) DeletionGroups(ctx context.Context, fn func(scheduler.DeletionGroup, uint64) error) error {
	groups := map[scheduler.DeletionGroup]uint64{}
	_, err := m.deletions(ctx, func(n deletion) bool {
		groups[n.group()]++
		return false
	})
	if err != nil {
		return err
	}
	return each(slices.SortedFunc(maps.Keys(groups), func(a, b scheduler.DeletionGroup) int {
		return cmp.Or(cmp.Compare(a.Edit, b.Edit), slices.Compare(a.Host[:], b.Host[:]))
	}), nil, func(g scheduler.DeletionGroup) error { return fn(g, groups[g]) })
}

// PendingDeletions implements scheduler.Store.
func (m *Memory) PendingDeletions(ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	for _, raw := range f.URLs {
		if _, err := weburl.Parse(raw); err != nil {
			return err
		}
	}
	list, err := m.deletions(ctx, func(n deletion) bool { return f.Selects(&n.StoredDeletion) })
	return each(list, err, fn)
}

func each[T any](list []T, err error, fn func(T) error) error {
	for i := range list {
		if err == nil {
			err = fn(list[i])
		}
	}
	return err
}

// Documents implements scheduler.Store. The sample is that of a store that has always
// known all documents: another one may have others.
func (m *Memory) Documents(ctx context.Context, h weburl.HostKey) (scheduler.HostDocuments, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return scheduler.HostDocuments{}, err
	}
	defer d.mu.Unlock()
	var docs scheduler.HostDocuments
	for k, r := range d.records {
		if r.Host == h && !r.LostAt.IsZero() {
			docs.Lost++
		}
		if r.Indexed && r.Host == h {
			docs.Count++
			docs.Sample = append(docs.Sample, k)
		}
	}
	slices.SortFunc(docs.Sample, func(a, b weburl.Key) int { return slices.Compare(a[:], b[:]) })
	docs.Sample = docs.Sample[:min(len(docs.Sample), scheduler.DocumentSample)]
	return docs, nil
}
