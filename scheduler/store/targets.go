package store

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

// Open implements push.Outbox. Without targets nothing is removed: pending orders are kept for the next target.
// If documents were sent before a target was known, it logs that once, because the target has a cursor from then on.
func (o outbox) Open(ctx context.Context, targets []string) error {
	for _, t := range targets {
		if t == "" || strings.ContainsRune(t, 0) || len(t) > 1000 {
			return fmt.Errorf("push target %q: a name has 1 to 1000 bytes, without a zero byte", t)
		}
	}
	var late []string
	var documents uint64
	err := o.s.changeAlone(ctx, func(g *group) (err error) {
		late, err = g.openTargets(ctx, targets)
		documents = g.nextCount.Indexed
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range late {
		o.s.log.Warn("this push target is new and gets only pending and later documents; `sextant refresh --all --full` sends all documents again",
			"target", t, "documents", documents)
	}
	return nil
}

// openTargets returns the late targets: new ones, when documents are in the index whose orders are no longer stored.
func (g *group) openTargets(ctx context.Context, targets []string) (late []string, err error) {
	old, err := g.cursors()
	if err != nil {
		return nil, err
	}
	first, err := g.firstOrder(ctx)
	if err != nil {
		return nil, err
	}
	cursors := map[string]uint64{}
	for _, t := range targets {
		if c, known := old[t]; known {
			cursors[t] = c
			delete(old, t)
			continue
		}
		cursors[t] = first - 1
		g.set(record.CursorKey(t), record.EncodeSeq(first-1))
		if g.nextCount.Indexed > g.nextCount.Waiting {
			late = append(late, t)
		}
	}
	return late, g.forgetTargets(ctx, old, lowest(cursors))
}

// forgetTargets removes targets and, if others remain, the orders that only they needed: those up to low.
func (g *group) forgetTargets(ctx context.Context, old map[string]uint64, low uint64) error {
	if low < math.MaxUint64 {
		if err := g.dropPassed(ctx, 0, low, func(passed uint64) {
			for t, c := range old {
				if passed > c {
					g.set(record.CursorKey(t), record.EncodeSeq(passed))
				}
			}
		}); err != nil {
			return err
		}
	}
	for t := range old {
		if err := g.dropDeadOf(ctx, t); err != nil {
			return err
		}
		g.remove(record.CursorKey(t))
	}
	return nil
}

// firstOrder returns the number of the oldest waiting order, or of the next one without any.
func (g *group) firstOrder(ctx context.Context) (uint64, error) {
	first := g.nextCount.Order + 1
	err := g.s.walk(ctx, g.stored(), []byte{record.KindOrder}, []byte{record.KindOrder}, false, func(key, _ []byte) error {
		if len(key) != record.OrderKeyLen {
			return g.s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
		}
		first, _ = record.SplitOrderKey(key)
		return errEnough
	})
	return first, err
}
