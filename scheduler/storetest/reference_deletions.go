package storetest

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// send changes the outbox and the loss of a URL, and returns whether a loss is then pending; has reports whether one
// was before.
func (r *reference) send(k weburl.Key, old scheduler.Record, has, cancel bool, o *scheduler.Order) bool {
	if cancel {
		delete(r.lost, k)
		has = false
	}
	if o == nil {
		return has
	}
	before, pends := r.lost[k]
	if o.Loss == nil {
		r.sent[k] = true
		if has && o.Op == scheduler.OrderAdd && before.Reason == scheduler.ReasonTarget {
			return true
		}
		delete(r.lost, k)
		return false
	}
	n := scheduler.StoredDeletion{
		Key: k, URL: old.URL, Source: o.Source, Reason: o.Reason, Edit: o.Edit, Text: o.Text,
		Replaces: o.Op == scheduler.OrderAdd, Loss: *o.Loss,
	}
	if pends && before.Edit == n.Edit && before.Replaces == n.Replaces {
		n.Seq, n.Loss = before.Seq, before.Seen(*o.Loss, o.Day)
	} else {
		r.orders++
		n.Seq = r.orders
	}
	r.lost[k] = n
	return true
}

// move applies a DeletionMove to a loss.
func (r *reference) move(k weburl.Key, old scheduler.Record, m scheduler.DeletionMove) bool {
	n := r.lost[k]
	switch m {
	case scheduler.KeepDeletion:
		return old.LossPending
	case scheduler.SendDeletion:
		delete(r.lost, k)
		r.sent[k] = true
		return false
	case scheduler.MarkWell:
		n.WellDay = n.Days
	}
	r.lost[k] = n
	return true
}

// Revise implements scheduler.Store.
func (r *reference) Revise(_ context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return r.revise(keys, func(k weburl.Key, rec scheduler.Record) *scheduler.Revision {
		if rec.State == scheduler.Waiting {
			return nil
		}
		v := fn(k, rec)
		if v != nil {
			v.Move = scheduler.KeepDeletion
		}
		return v
	})
}

// ReviseDeletions implements scheduler.Store.
func (r *reference) ReviseDeletions(_ context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return r.revise(keys, func(k weburl.Key, rec scheduler.Record) *scheduler.Revision {
		n, pends := r.lost[k]
		if !pends {
			return nil
		}
		return fn(n, rec)
	})
}

func (r *reference) revise(keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) (places []scheduler.Place, n int, _ error) {
	asked := map[weburl.Key]bool{}
	for _, k := range keys {
		old, known := r.records[k]
		if !known || asked[k] {
			continue
		}
		asked[k] = true
		v := fn(k, old)
		if v == nil {
			continue
		}
		n++
		next := v.Next
		next.LossPending = r.send(k, old, r.move(k, old, v.Move), v.CancelDeletion, v.Order)
		switch {
		case v.Forget:
			r.forget(k)
		case old.State == scheduler.Waiting:
			next.Seq, next.NextAt = old.Seq, time.Time{}
			r.records[k] = next
		default:
			if p := r.put(k, next); next.State == scheduler.Waiting {
				places = withPlace(places, p)
			}
		}
	}
	return places, n, nil
}
