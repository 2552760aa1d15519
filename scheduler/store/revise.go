package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/weburl"
)

// revision is the decision on a URL, and the state that it was made for.
type revision struct {
	key  weburl.Key
	old  scheduler.Record
	next *scheduler.Revision
}

// reviser is the common form of Revise and ReviseDeletions. It returns the revision of a URL with this record, nil to
// leave it alone. get reads a key of the same state.
type reviser func(k weburl.Key, rec scheduler.Record, get func([]byte) ([]byte, error)) (*scheduler.Revision, error)

// Revise implements scheduler.Store. It reads records and calls fn outside of the committer, which calls fn again for
// URLs that changed in the meantime.
func (s *Store) Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return s.revise(ctx, keys, func(k weburl.Key, rec scheduler.Record, _ func([]byte) ([]byte, error)) (*scheduler.Revision, error) {
		if rec.State == scheduler.Waiting {
			return nil, nil
		}
		next := fn(k, rec)
		if next == nil || next.Move == scheduler.KeepDeletion {
			return next, nil
		}
		kept := *next // fn may return the same one again
		kept.Move = scheduler.KeepDeletion
		return &kept, nil
	})
}

// ReviseDeletions implements scheduler.Store, as Revise does.
func (s *Store) ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return s.revise(ctx, keys, func(k weburl.Key, rec scheduler.Record, get func([]byte) ([]byte, error)) (*scheduler.Revision, error) {
		if !rec.LossPending {
			return nil, nil
		}
		p, o, err := s.deletionOf(k, get)
		if err != nil {
			return nil, err
		}
		return fn(o.Listed(k, p), rec), nil
	})
}

func (s *Store) revise(ctx context.Context, keys []weburl.Key, ask reviser) ([]scheduler.Place, int, error) {
	asOf := s.commits.Load() // before the records are read
	revisions, err := s.ask(ctx, keys, ask)
	if err != nil || len(revisions) == 0 {
		return nil, 0, err
	}
	var ps places
	n := 0
	err = s.change(ctx, func(g *group) error {
		for i := range revisions {
			changed, err := g.revise(&revisions[i], asOf, ask, &ps)
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

// ask returns the revisions of URLs in their present state.
func (s *Store) ask(ctx context.Context, keys []weburl.Key, ask reviser) ([]revision, error) {
	var revisions []revision
	asked := make(map[weburl.Key]struct{}, len(keys))
	err := s.view(ctx, func(view kv.View) error {
		for _, k := range keys {
			if err := s.ended(ctx); err != nil {
				return err
			}
			if _, twice := asked[k]; twice {
				continue
			}
			asked[k] = struct{}{}
			rec, err := s.lookup(view, k)
			if errors.Is(err, scheduler.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			next, err := ask(k, rec, view.Get)
			if err != nil {
				return err
			}
			if next != nil {
				revisions = append(revisions, revision{k, rec, next})
			}
		}
		return nil
	})
	return revisions, err
}

// revise applies a revision, or a new one if the URL was changed since asOf.
func (g *group) revise(r *revision, asOf uint64, ask reviser, ps *places) (bool, error) {
	if !g.unchanged(r.key, asOf) {
		var err error
		r.old, err = g.record(r.key)
		if errors.Is(err, scheduler.ErrNotFound) {
			return false, nil
		}
		if err == nil {
			r.next, err = ask(r.key, r.old, g.get)
		}
		if err != nil || r.next == nil {
			return false, err
		}
	}
	return true, g.applyRevision(r.key, &r.old, r.next, ps)
}

// applyRevision applies a revision to a URL.
func (g *group) applyRevision(k weburl.Key, old *scheduler.Record, v *scheduler.Revision, ps *places) error {
	if err := checkOrder(old.URL, v.Order, v.Forget); err != nil {
		return err
	}
	if old.State == scheduler.Waiting && (v.Forget || v.Next.State != scheduler.Waiting || placeOf(&v.Next) != placeOf(old)) {
		return fmt.Errorf("%s is pending: a revision of its deletion must not move it", old.URL)
	}
	has, err := g.moveDeletion(k, old, v.Move)
	if err == nil {
		has, err = g.order(k, old, has, v.Order, v.CancelDeletion)
	}
	if err != nil {
		return err
	}
	if err := g.leave(k, v.Gone); err != nil {
		return err
	}
	next := v.Next
	next.LossPending = has
	if old.State == scheduler.Waiting {
		return g.change(k, old, &next)
	}
	if err := g.unplace(k, old); err != nil {
		return err
	}
	if !v.Forget {
		return g.replace(k, old, &next, ps)
	}
	return g.erase(k, old, has)
}

// change stores a new record of a URL that keeps its place in a queue.
func (g *group) change(k weburl.Key, old, next *scheduler.Record) error {
	g.touch(k)
	next.Seq, next.NextAt = old.Seq, old.NextAt
	g.nextCount.Remove(old)
	g.nextCount.Add(next)
	if err := g.setRecord(k, next); err != nil {
		return err
	}
	return g.follow(k, old, next)
}
