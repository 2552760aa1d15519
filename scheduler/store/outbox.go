package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// outbox is the Store's push.Outbox.
type outbox struct{ s *Store }

// Outbox returns the outbox that the store's completions fill. It is closed with the store.
func (s *Store) Outbox() push.Outbox { return outbox{s} }

// OutboxBytes returns the length of the bodies of all waiting orders.
func (s *Store) OutboxBytes() uint64 { return s.committed.Load().Bytes }

// Changed implements push.Outbox.
func (o outbox) Changed() <-chan struct{} { return o.s.changed }

// Cursor implements push.Outbox.
func (o outbox) Cursor(ctx context.Context, target string) (seq uint64, err error) {
	err = o.s.view(ctx, func(view kv.View) error {
		var known bool
		if seq, known, err = o.s.cursor(view, target); err == nil && !known {
			return errTarget(target)
		}
		return err
	})
	return seq, err
}

// cursor reads a target's cursor, if the target is known.
func (s *Store) cursor(view kv.View, target string) (seq uint64, known bool, err error) {
	v, err := view.Get(record.CursorKey(target))
	if err == nil && v != nil {
		seq, err = record.DecodeSeq(v)
	}
	if err != nil {
		return 0, false, s.damaged("cursor of "+target, err)
	}
	return seq, v != nil, nil
}

func errTarget(target string) error {
	return fmt.Errorf("push target %q is not open: name it in Outbox.Open first", target)
}

// Entries implements push.Outbox.
func (o outbox) Entries(ctx context.Context, after uint64, n, maxBytes int) ([]push.Entry, error) {
	if n <= 0 || after == math.MaxUint64 {
		return nil, ctx.Err()
	}
	var entries []push.Entry
	size := 0
	err := o.s.viewBodies(ctx, func(view kv.View, r *segments.Reader) error {
		return o.s.walk(ctx, view, []byte{record.KindOrder}, record.OrderSeek(record.KindOrder, after+1), true, func(key, value []byte) error {
			seq, _, stored, err := o.s.order(key, value)
			if err != nil {
				return err
			}
			if size += int(stored.Size()); len(entries) > 0 && size > maxBytes {
				return errEnough
			}
			e := stored.Entry(seq)
			if e.Body = o.s.segments.Recent(stored.Place); e.Body == nil {
				if e.Body, e.Damage, err = r.Body(&stored); err != nil {
					return o.s.words(fmt.Errorf("order %d: %w", seq, err))
				}
			}
			if entries = append(entries, e); len(entries) == n {
				return errEnough
			}
			return nil
		})
	})
	return entries, err
}

// order reads a waiting or pending order. Its results are valid as long as value.
func (s *Store) order(key, value []byte) (seq uint64, k weburl.Key, o record.Order, err error) {
	p, k, err := record.SplitPlaceOf(key)
	if err != nil {
		return 0, k, o, s.damaged(fmt.Sprintf("key %x", key), err)
	}
	seq = p.Seq
	if o, err = record.DecodeOrder(value); err != nil {
		return seq, k, o, s.damaged(fmt.Sprintf("order %d", seq), err)
	}
	return seq, k, o, nil
}

// Safe implements push.Outbox. Many entries are removed in several steps, and the cursor moves with them. A seq above
// that of the newest order counts as that one.
func (o outbox) Safe(ctx context.Context, target string, seq uint64) error {
	return o.s.changeAlone(ctx, func(g *group) error { return g.safe(ctx, target, seq) })
}

// AddDead implements push.Outbox. If a newer order of the URL waits, e is obsolete and is not stored.
func (o outbox) AddDead(ctx context.Context, target string, e push.Entry, words string, at time.Time) error {
	u, err := weburl.Parse(e.URL)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	return o.s.changeLost(ctx, false, func(g *group, ps *places) error { return g.addDead(u.Key(), target, &e, words, at, ps) })
}

func (g *group) addDead(k weburl.Key, target string, e *push.Entry, words string, at time.Time, ps *places) error {
	if v, err := g.get(record.CursorKey(target)); err != nil {
		return err
	} else if v == nil {
		return errTarget(target)
	}
	p, ok, err := g.orderPlace(k)
	if err != nil || ok && p.Seq > e.Seq {
		return err
	}
	d := record.Dead{Seq: e.Seq, At: at, Words: words}
	if d.Order, err = g.orderOf(k, e, p, ok); err != nil {
		return err
	}
	if err := g.refer(d.Place.Segment, d.Size()); err != nil {
		return err
	}
	if err := g.dropDead(target, k); err != nil {
		return err
	}
	g.nextCount.Dead++
	g.set(record.DeadKey(target, k), d.Encode())
	if d.Lost {
		return g.fetchAgain(k, ps)
	}
	return nil
}

// orderOf returns the order of an entry, in the form of a dead letter: the one at p, if it is the same and still
// stored.
func (g *group) orderOf(k weburl.Key, e *push.Entry, p record.OrderPlace, ok bool) (record.Order, error) {
	o := record.Order{Op: e.Op, Moved: e.Moved, Lost: e.Damage != "", At: e.At, URL: e.URL, Source: e.Source}
	if o.Lost {
		return o, nil
	}
	if ok && p.Seq == e.Seq && p.Segment != 0 && e.Op == push.Add {
		v, err := g.get(p.Key(k))
		if err != nil {
			return o, err
		}
		if o, err = record.DecodeOrder(v); err != nil {
			return o, g.s.damaged(fmt.Sprintf("order %d", p.Seq), err)
		}
		return o, nil
	}
	return o, g.keepBody(&o, e.Body)
}

// cursors returns the cursors of all targets. Only the committer changes them.
func (g *group) cursors() (map[string]uint64, error) {
	return g.s.cursors(context.Background(), g.stored())
}

func (s *Store) cursors(ctx context.Context, view kv.View) (map[string]uint64, error) {
	cursors := map[string]uint64{}
	err := s.walk(ctx, view, []byte{record.KindCursor}, []byte{record.KindCursor}, true, func(key, value []byte) error {
		seq, err := record.DecodeSeq(value)
		if err != nil {
			return s.damaged(fmt.Sprintf("cursor %q", key[1:]), err)
		}
		cursors[string(key[1:])] = seq
		return nil
	})
	return cursors, err
}

func lowest(cursors map[string]uint64) uint64 {
	low := uint64(math.MaxUint64)
	for _, c := range cursors {
		low = min(low, c)
	}
	return low
}

func (g *group) safe(ctx context.Context, target string, seq uint64) error {
	cursors, err := g.cursors()
	if err != nil {
		return err
	}
	old, ok := cursors[target]
	if !ok {
		return errTarget(target)
	}
	if seq = min(seq, g.nextCount.Order); seq <= old {
		return nil
	}
	from := lowest(cursors) + 1
	cursors[target] = seq
	if err := g.dropPassed(ctx, from, lowest(cursors), func(passed uint64) {
		if passed > old {
			g.set(record.CursorKey(target), record.EncodeSeq(passed))
		}
	}); err != nil {
		return err
	}
	g.set(record.CursorKey(target), record.EncodeSeq(seq))
	return nil
}

// dropPassed removes the waiting orders numbered from to seq. It calls passed with the number of each before its
// removal can be committed, to move the cursors along.
func (g *group) dropPassed(ctx context.Context, from, seq uint64, passed func(uint64)) error {
	return g.pagesUntil(ctx, []byte{record.KindOrder}, record.OrderSeek(record.KindOrder, from), false, func(key, _ []byte) error {
		if len(key) != record.OrderKeyLen {
			return g.s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
		}
		at, k := record.SplitOrderKey(key)
		if at > seq {
			return errEnough
		}
		p, ok, err := g.orderPlace(k)
		if err != nil {
			return err
		}
		if !ok || p.Kind != record.KindOrder || p.Seq != at {
			return g.s.damaged(fmt.Sprintf("order %d", at), errors.New("it is not the order of its URL"))
		}
		if err := g.dropOrderAt(k, p); err != nil {
			return err
		}
		passed(at)
		return g.seal()
	})
}
