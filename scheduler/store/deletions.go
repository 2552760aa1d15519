package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// A pending loss stands beside the URL's waiting order: a document that no target has yet is still sent, and stays if
// the loss is cancelled. A URL has a loss if its record has LossPending, so that a page without one costs no read.

// deletionOf reads the deletion of a URL whose record has LossPending. get reads a key, nil if it does not exist; the
// results may share memory with it.
func (s *Store) deletionOf(
	k weburl.Key, get func([]byte) ([]byte, error),
) (p record.OrderPlace, o record.Order, err error) {
	v, err := get(record.DeletionKey(k))
	if err != nil {
		return p, o, err
	}
	p, ok, err := s.orderPlace(k, v)
	if err == nil && !ok {
		err = s.damaged("deletion of URL "+k.String(), errMissing)
	}
	if err != nil {
		return p, o, err
	}
	if v, err = get(p.Key(k)); err != nil {
		return p, o, err
	}
	if o, err = record.DecodeOrder(v); err != nil {
		return p, o, s.damaged(fmt.Sprintf("deletion %d", p.Seq), err)
	}
	return p, o, nil
}

// dropDeletion removes the deletion of a URL whose record has LossPending.
func (g *group) dropDeletion(k weburl.Key) error {
	p, _, err := g.s.deletionOf(k, g.get)
	if err != nil {
		return err
	}
	return g.dropOrderAt(k, p)
}

// checkOrder returns what is wrong with an order for a URL; forget is set if nothing else of the URL stays stored.
func checkOrder(url string, o *scheduler.Order, forget bool) error {
	switch {
	case o == nil:
	case len(o.Body) > record.MaxBody:
		return fmt.Errorf("order for %s has a body of %d bytes, more than %d: store a shorter document",
			url, len(o.Body), record.MaxBody)
	case o.Loss != nil && forget:
		return fmt.Errorf("the loss of %s cannot be pending: its URL was forgotten", url)
	}
	return nil
}

// order updates the outbox for a change of a URL, and returns whether a loss of it is pending after that; has reports
// whether one was before.
func (g *group) order(k weburl.Key, old *scheduler.Record, has bool, o *scheduler.Order, drop bool) (bool, error) {
	if drop && has {
		if err := g.dropDeletion(k); err != nil {
			return has, err
		}
		has = false
	}
	if o == nil {
		return has, nil
	}
	stored := record.Order{
		Op: push.Op(o.Op), Moved: o.Moved, At: time.Now(), URL: old.URL, Source: o.Source,
		Pending: record.Pending{Reason: o.Reason, Edit: o.Edit, Text: o.Text},
	}
	if err := g.keepBody(&stored, o.Body); err != nil {
		return has, err
	}
	if o.Loss != nil {
		stored.Pending.Loss = *o.Loss
		return true, g.pend(k, old, has, &stored, o.Day)
	}
	if has {
		p, before, err := g.s.deletionOf(k, g.get)
		if err != nil {
			return has, err
		}
		// A document that is to leave a target is kept current until then.
		if has = o.Op == scheduler.OrderAdd && before.Pending.Reason == scheduler.ReasonTarget; !has {
			stored.Moved = stored.Moved || before.Source != stored.Source
			if err := g.dropOrderAt(k, p); err != nil {
				return has, err
			}
		}
	}
	if o.Op == scheduler.OrderAdd && old.Indexed {
		g.nextCount.Changed++
	}
	return has, g.putOrder(k, &stored)
}

// pend stores a pending loss, or joins it with the existing one.
func (g *group) pend(k weburl.Key, old *scheduler.Record, has bool, o *record.Order, day time.Duration) error {
	if err := g.refer(o.Place.Segment, o.Size()); err != nil {
		return err
	}
	place := record.PendingPlace(old.Host, o.Pending.Edit)
	if has {
		p, before, err := g.s.deletionOf(k, g.get)
		if err != nil {
			return err
		}
		if err := g.dropOrderAt(k, p); err != nil {
			return err
		}
		if before.Pending.Edit == o.Pending.Edit && before.Op == o.Op {
			o.Pending.Loss = before.Pending.Loss.Seen(o.Pending.Loss, day)
			g.storeOrder(k, place.Numbered(p.Seq, o), o)
			return nil
		}
	}
	g.nextCount.Order++
	g.storeOrder(k, place.Numbered(g.nextCount.Order, o), o)
	return nil
}

// moveDeletion applies a DeletionMove to a loss, and returns whether it is still pending.
func (g *group) moveDeletion(k weburl.Key, old *scheduler.Record, m scheduler.DeletionMove) (bool, error) {
	if m == scheduler.KeepDeletion || !old.LossPending {
		return old.LossPending, nil
	}
	p, o, err := g.s.deletionOf(k, g.get)
	if err != nil {
		return true, err
	}
	if m == scheduler.MarkWell {
		o.Pending.Loss.WellDay = o.Pending.Loss.Days
		g.storeOrder(k, p, &o)
		g.countOrder(p, ^uint64(0)) // cancels the count of before
		return true, nil
	}
	if o.Op == push.Add {
		g.nextCount.Changed++
	}
	// As a waiting order it is new.
	o.At = time.Now()
	if err := g.putOrder(k, &o); err != nil { // refers to the body before it is released
		return true, err
	}
	return false, g.dropOrderAt(k, p)
}

// Deletions implements scheduler.Store.
func (s *Store) Deletions(ctx context.Context, g scheduler.DeletionGroup, fn func(scheduler.StoredDeletion) error) error {
	prefix := record.PendingPrefix(record.PendingPlace(g.Host, g.Edit))
	return s.view(ctx, func(view kv.View) error {
		return s.walk(ctx, view, prefix, prefix, true, func(key, value []byte) error {
			d, err := s.storedDeletion(key, value)
			if err != nil {
				return err
			}
			return fn(d)
		})
	})
}

// storedDeletion reads a pending loss.
func (s *Store) storedDeletion(key, value []byte) (scheduler.StoredDeletion, error) {
	_, k, o, err := s.order(key, value)
	if err != nil {
		return scheduler.StoredDeletion{}, err
	}
	p, _, err := record.SplitDeletionKey(key)
	return o.Listed(k, p), err
}

// DeletionGroups implements scheduler.Store. It walks over all pending losses, without reading their values.
func (s *Store) DeletionGroups(ctx context.Context, fn func(g scheduler.DeletionGroup, pending uint64) error) error {
	pending := map[scheduler.DeletionGroup]uint64{}
	err := s.view(ctx, func(view kv.View) error {
		for _, kind := range []byte{record.KindHostLoss, record.KindEditLoss} {
			err := s.walk(ctx, view, []byte{kind}, []byte{kind}, false, func(key, _ []byte) error {
				p, _, err := record.SplitDeletionKey(key)
				if err != nil {
					return s.damaged(fmt.Sprintf("key %x", key), err)
				}
				pending[p.DeletionGroup()]++
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for g, n := range pending {
		if err == nil {
			err = fn(g, n)
		}
	}
	return err
}

// PendingDeletions implements scheduler.Store. It holds the keys of the losses in memory, but not the losses.
func (s *Store) PendingDeletions(
	ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error,
) error {
	named, err := parseKeys(f.URLs)
	if err != nil {
		return err
	}
	f.URLs = nil // their keys select
	return s.view(ctx, func(view kv.View) error {
		keys, err := s.deletionKeys(ctx, view, &f, named)
		if err != nil {
			return err
		}
		return s.eachOrder(ctx, view, keys, func(key, value []byte) error {
			d, err := s.storedDeletion(key, value)
			if err != nil || !f.Selects(&d) {
				return err
			}
			return fn(d)
		})
	})
}

// deletionKeys returns the keys of the deletions among which a filter chooses, oldest first.
func (s *Store) deletionKeys(
	ctx context.Context, view kv.View, f *scheduler.DeletionFilter, named []weburl.Key,
) (keys [][]byte, err error) {
	for _, k := range named {
		v, err := view.Get(record.DeletionKey(k))
		if err != nil {
			return nil, s.damaged("deletion of URL "+k.String(), err)
		}
		p, ok, err := s.orderPlace(k, v)
		if err != nil {
			return nil, err
		}
		if ok {
			keys = append(keys, p.Key(k))
		}
	}
	prefixes := [][]byte{{record.KindHostLoss}, {record.KindEditLoss}}
	switch u, err := weburl.Parse(f.Host); {
	case len(named) > 0:
		prefixes = nil
	case f.Edit != 0:
		prefixes = [][]byte{record.PendingPrefix(record.PendingPlace(weburl.HostKey{}, f.Edit))}
	case f.Host != "" && err == nil:
		prefixes[0] = record.PendingPrefix(record.PendingPlace(u.HostKey(), 0))
	}
	for _, prefix := range prefixes {
		if err := s.walk(ctx, view, prefix, prefix, false, func(key, _ []byte) error {
			keys = append(keys, bytes.Clone(key))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return byNumber(keys), nil
}
