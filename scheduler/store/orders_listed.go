package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// selected is a push.Selection, prepared for filtering.
type selected struct {
	push.Selection
	keys  map[weburl.Key]bool // nil: all
	after uint64              // cursor of the target
}

func newSelected(s push.Selection) (selected, error) {
	keys, err := parseKeys(s.URLs)
	sel := selected{Selection: s}
	if len(keys) > 0 {
		sel.keys = make(map[weburl.Key]bool, len(keys))
		for _, k := range keys {
			sel.keys[k] = true
		}
	}
	return sel, err
}

// takes reports whether an order is selected, ignoring its state and target.
func (s *selected) takes(k weburl.Key, o *record.Order) bool {
	return (s.keys == nil || s.keys[k]) && (s.Source == nil || *s.Source == o.Source)
}

// Orders calls fn for the selected orders: the waiting and the pending ones, each oldest first, and dead letters. It
// reads no bodies.
func (s *Store) Orders(ctx context.Context, selection push.Selection, fn func(push.Listed) error) error {
	sel, err := newSelected(selection)
	if err != nil {
		return err
	}
	return s.view(ctx, func(view kv.View) error {
		if err := s.findTarget(ctx, view, &sel); err != nil {
			return err
		}
		for _, part := range []struct {
			state push.State
			list  func() error
		}{
			{push.Waiting, func() error { return s.listWaiting(ctx, view, &sel, fn) }},
			{push.Pending, func() error { return s.listDeletions(ctx, view, &sel, fn) }},
			{push.DeadLetter, func() error { return s.listDead(ctx, view, &sel, fn) }},
		} {
			if sel.State != "" && sel.State != part.state {
				continue
			}
			if err := part.list(); err != nil {
				return err
			}
		}
		return nil
	})
}

// findTarget reads the selected target's cursor, if one is selected.
func (s *Store) findTarget(ctx context.Context, view kv.View, sel *selected) (err error) {
	if sel.Target == "" {
		return nil
	}
	var known bool
	if sel.after, known, err = s.cursor(view, sel.Target); err != nil || known {
		return err
	}
	all, err := s.cursors(ctx, view)
	if err != nil {
		return err
	}
	return &push.UnknownTarget{Name: sel.Target, Known: slices.Sorted(maps.Keys(all))}
}

// listOrder calls fn for an order if it is selected.
func (s *Store) listOrder(key, value []byte, state push.State, sel *selected, fn func(push.Listed) error) error {
	seq, k, o, err := s.order(key, value)
	if err != nil || !sel.takes(k, &o) {
		return err
	}
	return fn(push.Listed{
		Entry: o.Entry(seq), State: state, Bytes: o.Size(), Lost: o.Lost,
		Moves: o.Pending.Reason == scheduler.ReasonTarget,
	})
}

// listWaiting lists waiting orders. If URLs are selected, it reads only theirs.
func (s *Store) listWaiting(ctx context.Context, view kv.View, sel *selected, fn func(push.Listed) error) error {
	from := min(sel.after, math.MaxUint64-1) + 1
	list := func(key, value []byte) error { return s.listOrder(key, value, push.Waiting, sel, fn) }
	if sel.keys == nil {
		return s.walk(ctx, view, []byte{record.KindOrder}, record.OrderSeek(record.KindOrder, from), true, list)
	}
	var orders [][]byte
	for k := range sel.keys {
		v, err := view.Get(record.WaitingKey(k))
		if err != nil {
			return err
		}
		p, ok, err := s.orderPlace(k, v)
		if err != nil {
			return err
		}
		if ok && p.Seq >= from {
			orders = append(orders, p.Key(k))
		}
	}
	return s.eachOrder(ctx, view, byNumber(orders), list)
}

// listDeletions lists pending losses.
func (s *Store) listDeletions(ctx context.Context, view kv.View, sel *selected, fn func(push.Listed) error) error {
	f := scheduler.DeletionFilter{URLs: sel.URLs}
	keys, err := s.deletionKeys(ctx, view, &f, slices.Collect(maps.Keys(sel.keys)))
	if err != nil {
		return err
	}
	return s.eachOrder(ctx, view, keys, func(key, value []byte) error {
		return s.listOrder(key, value, push.Pending, sel, fn)
	})
}

// errMissing is the error for a missing key that another one refers to.
var errMissing = errors.New("it is missing")

// eachOrder calls fn for the orders under some keys.
func (s *Store) eachOrder(ctx context.Context, view kv.View, keys [][]byte, fn func(key, value []byte) error) error {
	for _, key := range keys {
		if err := s.ended(ctx); err != nil {
			return err
		}
		value, err := view.Get(key)
		if err == nil && value == nil {
			err = errMissing
		}
		if err != nil {
			return s.damaged(fmt.Sprintf("key %x", key), err)
		}
		if err := fn(key, value); err != nil {
			return err
		}
	}
	return nil
}

// byNumber sorts keys of orders, oldest first, and removes duplicates.
func byNumber(keys [][]byte) [][]byte {
	slices.SortFunc(keys, func(a, b []byte) int { return bytes.Compare(numberIn(a), numberIn(b)) })
	return slices.CompactFunc(keys, bytes.Equal)
}

// numberIn returns the number in the key of an order, and what follows it.
func numberIn(key []byte) []byte { return key[max(len(key)-record.SeqLen-record.KeyLen, 0):] }

func (s *Store) listDead(ctx context.Context, view kv.View, sel *selected, fn func(push.Listed) error) error {
	prefix := sel.deadPrefix()
	return s.walk(ctx, view, prefix, prefix, true, func(key, value []byte) error {
		target, k, d, err := s.deadLetter(key, value)
		if err != nil || !sel.takes(k, &d.Order) {
			return err
		}
		return fn(push.Listed{
			Entry: d.Entry(d.Seq), State: push.DeadLetter, Bytes: d.Size(), Lost: d.Lost,
			Target: target, Words: d.Words, RefusedAt: d.At,
		})
	})
}

// deadPrefix returns the prefix of the keys of the selected dead letters.
func (s *selected) deadPrefix() []byte {
	if s.Target == "" {
		return []byte{record.KindDead}
	}
	return record.DeadPrefix(s.Target)
}

// OutboxFigures holds the backlog of the outbox.
type OutboxFigures struct {
	Bytes uint64 // of waiting bodies
	// Oldest is the time when the oldest waiting order was made, zero if none waits.
	Oldest time.Time
	// Behind is the same for each target, by name: the oldest order that it has not confirmed.
	Behind map[string]time.Time
}

// OutboxFigures returns the backlog, with a few reads for each target.
func (s *Store) OutboxFigures(ctx context.Context) (OutboxFigures, error) {
	f := OutboxFigures{Behind: map[string]time.Time{}}
	err := s.view(ctx, func(view kv.View) error {
		cursors, err := s.cursors(ctx, view)
		if err != nil {
			return err
		}
		for target, cursor := range cursors {
			if f.Behind[target], err = s.madeAfter(ctx, view, cursor); err != nil {
				return err
			}
		}
		for at := range maps.Values(f.Behind) {
			if !at.IsZero() && (f.Oldest.IsZero() || at.Before(f.Oldest)) {
				f.Oldest = at
			}
		}
		if len(cursors) == 0 {
			f.Oldest, err = s.madeAfter(ctx, view, 0)
		}
		return err
	})
	f.Bytes = s.OutboxBytes()
	return f, err
}

// madeAfter returns when the first order above a number was made.
func (s *Store) madeAfter(ctx context.Context, view kv.View, after uint64) (at time.Time, err error) {
	err = s.walk(ctx, view, []byte{record.KindOrder}, record.OrderSeek(record.KindOrder, min(after, math.MaxUint64-1)+1), true, func(key, value []byte) error {
		_, _, o, err := s.order(key, value)
		if err != nil {
			return err
		}
		at = o.At
		return errEnough
	})
	return at, err
}
