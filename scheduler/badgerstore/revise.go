package badgerstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Revise implements scheduler.Store.
func (s *Store) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	var ps places
	var n int
	err := s.change(ctx, func(g *group) (err error) {
		n, err = g.eachOf(keys, func(_ int, k weburl.Key) (bool, error) { return g.revise(k, fn, &ps) })
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return ps.list, n, nil
}

func (g *group) revise(k weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision, ps *places) (bool, error) {
	old, err := g.record(k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return false, nil
	}
	if err != nil || old.State == scheduler.Waiting {
		return false, err
	}
	r := fn(k, old)
	if r == nil {
		return false, nil
	}
	if r.Order != nil && len(r.Order.Body) > MaxBody {
		return false, fmt.Errorf("order for %s has a body of %d bytes, more than %d", old.URL, len(r.Order.Body), MaxBody)
	}
	g.unplace(k, &old)
	next := r.Next
	g.place(k, &next, ps)
	if r.CancelHeld {
		if err := g.cancelHeld(k); err != nil {
			return false, err
		}
	}
	if r.Order == nil {
		return true, nil
	}
	return true, g.addOrder(k, old.URL, r.Order)
}

// HoldHost implements scheduler.Store.
func (s *Store) HoldHost(context.Context, weburl.HostKey) (int, error) {
	return 0, errors.ErrUnsupported
}
