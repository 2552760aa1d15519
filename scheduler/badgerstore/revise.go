package badgerstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// revision is what fn said of a URL, and of which state.
type revision struct {
	key  weburl.Key
	old  scheduler.Record
	next *scheduler.Revision
}

// Revise implements scheduler.Store. Records are read, and fn is called, outside of the
// committer, which calls it again for those that were changed meanwhile.
func (s *Store) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	asOf := s.commits.Load() // before the records are read
	revisions, err := s.ask(ctx, keys, fn)
	if err != nil || len(revisions) == 0 {
		return nil, 0, err
	}
	var ps places
	n := 0
	err = s.change(ctx, func(g *group) error {
		for i := range revisions {
			changed, err := g.revise(&revisions[i], asOf, fn, &ps)
			if err != nil {
				return err
			}
			if changed {
				n++
			}
			if err := g.seal(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return ps.list, n, nil
}

// ask calls fn for the records as they are now and gives what it wants changed.
func (s *Store) ask(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]revision, error) {
	var revisions []revision
	asked := make(map[weburl.Key]struct{}, len(keys))
	err := s.view(ctx, func(txn *badger.Txn) error {
		for _, k := range keys {
			if err := s.ended(ctx); err != nil {
				return err
			}
			if _, twice := asked[k]; twice {
				continue
			}
			asked[k] = struct{}{}
			rec, err := s.lookup(txn, k)
			if errors.Is(err, scheduler.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if rec.State == scheduler.Waiting {
				continue
			}
			if next := fn(k, rec); next != nil {
				revisions = append(revisions, revision{k, rec, next})
			}
		}
		return nil
	})
	return revisions, err
}

// revise applies a revision, or a new one if the URL was changed since asOf.
func (g *group) revise(r *revision, asOf uint64, fn func(weburl.Key, scheduler.Record) *scheduler.Revision, ps *places) (bool, error) {
	if !g.unchanged(r.key, asOf) {
		var err error
		r.old, err = g.record(r.key)
		if errors.Is(err, scheduler.ErrNotFound) {
			return false, nil
		}
		if err != nil || r.old.State == scheduler.Waiting {
			return false, err
		}
		if r.next = fn(r.key, r.old); r.next == nil {
			return false, nil
		}
	}
	order := r.next.Order
	if order != nil && len(order.Body) > MaxBody {
		return false, fmt.Errorf("order for %s has a body of %d bytes, more than %d", r.old.URL, len(order.Body), MaxBody)
	}
	if err := g.unplace(r.key, &r.old); err != nil {
		return false, err
	}
	next := r.next.Next
	if err := g.place(r.key, &next, ps); err != nil {
		return false, err
	}
	g.notes(r.next.Notes)
	if r.next.CancelHeld {
		if err := g.cancelHeld(r.key); err != nil {
			return false, err
		}
	}
	if order == nil {
		return true, nil
	}
	return true, g.addOrder(r.key, r.old.URL, order)
}
