package store

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// counted returns the committer's count, or 0 after an error: the committer may still change it when the context has
// ended.
func counted(n *int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return *n, nil
}

// Dead calls fn for each dead letter, target by target.
func (s *Store) Dead(ctx context.Context, fn func(push.Dead) error) error {
	return s.viewBodies(ctx, func(view kv.View, r *segments.Reader) error {
		return s.walk(ctx, view, []byte{record.KindDead}, []byte{record.KindDead}, true, func(key, value []byte) error {
			target, _, stored, err := s.deadLetter(key, value)
			if err != nil {
				return err
			}
			d := stored.Letter(target)
			if d.Body, d.Damage, err = r.Body(&stored.Order); err != nil {
				return s.words(fmt.Errorf("dead letter of %s: %w", d.URL, err))
			}
			return fn(d)
		})
	})
}

// deadLetter reads a dead letter. Its results are valid as long as value.
func (s *Store) deadLetter(key, value []byte) (target string, k weburl.Key, d record.Dead, err error) {
	target, k, err = record.SplitDeadKey(key)
	if err == nil {
		d, err = record.DecodeDead(value)
	}
	if err != nil {
		return target, k, d, s.damaged(fmt.Sprintf("dead letter %q", key), err)
	}
	return target, k, d, nil
}

// RetryDead sends the orders of the selected dead letters again, and returns the number of dead letters. All targets
// get them, since each becomes a new order. An order is not sent if a newer one of its URL waits. A URL whose document
// is lost is fetched again.
func (s *Store) RetryDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.takeDead(ctx, sel, func(g *group, k weburl.Key, d *record.Dead, ps *places) error {
		p, ok, err := g.orderPlace(k)
		if err != nil || ok && p.Seq > d.Seq {
			return err // the same order, dead at another target, or a newer one waits
		}
		if d.Lost {
			return g.fetchAgain(k, ps)
		}
		return g.putOrder(k, &d.Order)
	})
}

// DropDead drops the selected dead letters, and returns how many there were.
func (s *Store) DropDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.takeDead(ctx, sel, func(*group, weburl.Key, *record.Dead, *places) error { return nil })
}

// takeDead removes dead letters and calls fn in the committer for each.
func (s *Store) takeDead(ctx context.Context, selection push.Selection, fn func(*group, weburl.Key, *record.Dead, *places) error) (int, error) {
	sel, err := newSelected(selection)
	if err != nil {
		return 0, err
	}
	if err := s.view(ctx, func(view kv.View) error { return s.findTarget(ctx, view, &sel) }); err != nil {
		return 0, err
	}
	n := 0
	err = s.changeLost(ctx, true, func(g *group, ps *places) error {
		prefix := sel.deadPrefix()
		return g.pagesUntil(ctx, prefix, prefix, true, func(key, value []byte) error {
			_, k, d, err := s.deadLetter(key, value)
			if err != nil || !sel.takes(k, &d.Order) {
				return err
			}
			n++
			// Retrying another dead letter of the URL may have removed this one.
			if v, err := g.get(key); err != nil || v == nil {
				return err
			}
			g.remove(key)
			g.nextCount.Dead--
			if err := fn(g, k, &d, ps); err != nil {
				return err
			}
			if err := g.release(d.Place.Segment, d.Size()); err != nil { // after a new order refers to it
				return err
			}
			return g.seal()
		})
	})
	return counted(&n, err)
}

// dropDeadOf removes a target's dead letters.
func (g *group) dropDeadOf(ctx context.Context, target string) error {
	prefix := record.DeadPrefix(target)
	return g.pagesUntil(ctx, prefix, prefix, true, func(key, value []byte) error {
		_, k, d, err := g.s.deadLetter(key, value)
		if err != nil {
			return err
		}
		g.remove(record.DeadKey(target, k))
		g.nextCount.Dead--
		if err := g.release(d.Place.Segment, d.Size()); err != nil {
			return err
		}
		return g.seal()
	})
}

func parseKeys(urls []string) ([]weburl.Key, error) {
	keys := make([]weburl.Key, 0, len(urls))
	for _, raw := range urls {
		u, err := weburl.Parse(raw)
		if err != nil {
			return nil, err
		}
		keys = append(keys, u.Key())
	}
	return keys, nil
}
