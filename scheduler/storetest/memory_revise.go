package storetest

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Revise implements scheduler.Store.
func (m *Memory) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return m.revise(ctx, keys, func(d *contents, k weburl.Key, r scheduler.Record) *scheduler.Revision {
		if r.State == scheduler.Waiting {
			return nil
		}
		v := fn(k, r)
		if v == nil || v.Move == scheduler.KeepDeletion {
			return v
		}
		kept := *v
		kept.Move = scheduler.KeepDeletion
		return &kept
	})
}

// revise changes the URLs as ask says.
func (m *Memory) revise(ctx context.Context, keys []weburl.Key, ask func(*contents, weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer d.mu.Unlock()
	places, n := newPlaceSet(), 0
	asked := map[weburl.Key]bool{}
	for _, k := range keys {
		old, known := d.records[k]
		if !known || asked[k] {
			continue
		}
		asked[k] = true
		v := ask(d, k, clone(old))
		if v == nil {
			continue
		}
		if err := d.apply(k, old, v, places); err != nil {
			return nil, 0, err
		}
		n++
	}
	return places.list, n, nil
}

// apply changes a URL as a revision says.
func (d *contents) apply(k weburl.Key, old scheduler.Record, v *scheduler.Revision, places *placeSet) error {
	if err := checkOrder(v.Order, v.Forget); err != nil {
		return err
	}
	waits := old.State == scheduler.Waiting
	if waits && (v.Forget || v.Next.State != scheduler.Waiting || placeOf(v.Next) != placeOf(old)) {
		return errMoved
	}
	has := d.send(k, old, d.move(k, old, v.Move), v.CancelDeletion, v.Order)
	next := v.Next
	next.LossPending = has
	switch {
	case waits:
		next.Seq, next.NextAt = old.Seq, time.Time{}
		d.records[k] = next
	case v.Forget:
		d.forget(k)
	default:
		if p := d.put(k, next); next.State == scheduler.Waiting {
			places.add(p)
		}
	}
	return nil
}
