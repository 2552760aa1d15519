package storetest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

var (
	errMoved  = errors.New("a URL that waits must stay where it is")
	errRested = errors.New("only the deletion of a URL that stays known can rest")
)

// deletion is one that rests or is held. What waits in the outbox of the URL stays there
// beside it.
type deletion struct {
	scheduler.StoredDeletion
	host weburl.HostKey
	body []byte
}

func (n deletion) group() scheduler.DeletionGroup {
	if n.Edit != 0 {
		return scheduler.DeletionGroup{Edit: n.Edit}
	}
	return scheduler.DeletionGroup{Host: n.host}
}

func checkOrder(o *scheduler.Order, forget bool) error {
	if o != nil && o.Deletion != scheduler.NoDeletion && (forget || o.Op != scheduler.OrderDelete) {
		return errRested
	}
	return nil
}

// send changes what the outbox holds of a URL, and returns what its record then says of a
// deletion; has is what it said before.
func (d *contents) send(k weburl.Key, old scheduler.Record, has scheduler.Deletion, cancel bool, o *scheduler.Order) scheduler.Deletion {
	if cancel {
		delete(d.deleted, k)
		has = scheduler.NoDeletion
	}
	if o == nil {
		return has
	}
	if o.Deletion == scheduler.NoDeletion {
		delete(d.deleted, k)
		d.outbox[k] = *o
		return scheduler.NoDeletion
	}
	n := deletion{
		StoredDeletion: scheduler.StoredDeletion{
			Key: k, URL: old.URL, Source: o.Source, State: o.Deletion, Reason: o.Reason, Edit: o.Edit,
			At: time.Now().Truncate(time.Second).UTC(), Text: o.Text,
		},
		host: old.Host, body: o.Body,
	}
	if n.State == scheduler.DeletionHeld {
		n.Hold = o.Hold
	}
	before, ok := d.deleted[k]
	if ok && before.Edit == o.Edit {
		n.Seq, n.State, n.Hold, n.At, n.Again = before.Seq, before.State, before.Hold, before.At, n.At
	} else {
		n.Seq = d.numberOrder()
	}
	d.deleted[k] = n
	return n.State
}

// numberOrder gives the number of a deletion.
func (d *contents) numberOrder() uint64 {
	d.orders++
	return d.orders
}

// move does with a deletion what ReviseDeletions was told.
func (d *contents) move(k weburl.Key, old scheduler.Record, m scheduler.DeletionMove, hold scheduler.Hold) scheduler.Deletion {
	n := d.deleted[k]
	switch m {
	case scheduler.KeepDeletion:
		return old.Deletion
	case scheduler.SendDeletion:
		delete(d.deleted, k)
		d.outbox[k] = scheduler.Order{Op: scheduler.OrderDelete, Source: n.Source, Body: n.body}
		return scheduler.NoDeletion
	case scheduler.HoldDeletion:
		n.State, n.Hold = scheduler.DeletionHeld, hold
	case scheduler.RestDeletion:
		if n.State == scheduler.DeletionResting {
			return n.State
		}
		n.State, n.Hold, n.Seq = scheduler.DeletionResting, scheduler.NotHeld, d.numberOrder()
	}
	d.deleted[k] = n
	return n.State
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
	list, err := m.deletions(ctx, func(n deletion) bool { return n.State == scheduler.DeletionResting && n.group() == g })
	return each(list, err, fn)
}

// DeletionGroups implements scheduler.Store.
func (m *Memory) DeletionGroups(ctx context.Context, fn func(scheduler.DeletionGroup, uint64) error) error {
	groups := map[scheduler.DeletionGroup]uint64{}
	_, err := m.deletions(ctx, func(n deletion) bool {
		if n.State == scheduler.DeletionResting {
			groups[n.group()]++
		}
		return false
	})
	if err != nil {
		return err
	}
	return each(slices.SortedFunc(maps.Keys(groups), func(a, b scheduler.DeletionGroup) int {
		return cmp.Or(cmp.Compare(a.Edit, b.Edit), slices.Compare(a.Host[:], b.Host[:]))
	}), nil, func(g scheduler.DeletionGroup) error { return fn(g, groups[g]) })
}

// HeldDeletions implements scheduler.Store.
func (m *Memory) HeldDeletions(ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	named := map[weburl.Key]bool{}
	for _, raw := range f.URLs {
		u, err := weburl.Parse(raw)
		if err != nil {
			return err
		}
		named[u.Key()] = true
	}
	list, err := m.deletions(ctx, func(n deletion) bool {
		u, ok := weburl.FromCanonical(n.URL)
		return (f.State == scheduler.NoDeletion || f.State == n.State) && (len(named) == 0 || named[n.Key]) &&
			(f.Host == "" || ok && u.Origin() == f.Host) &&
			(f.Reason == scheduler.NoReason || f.Reason == n.Reason) && (f.Edit == 0 || f.Edit == n.Edit)
	})
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
		if r.Indexed && r.Host == h {
			docs.Count++
			docs.Sample = append(docs.Sample, k)
		}
	}
	slices.SortFunc(docs.Sample, func(a, b weburl.Key) int { return slices.Compare(a[:], b[:]) })
	docs.Sample = docs.Sample[:min(len(docs.Sample), scheduler.DocumentSample)]
	return docs, nil
}
