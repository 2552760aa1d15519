package partitioned

import "github.com/sextant-crawler/sextant/scheduler"

// sweep.go: letters that have arrived are removed. mu of a box guards it.

// sweep removes letters that have arrived, and reports whether some are left.
func (s *Store) sweep(o *owned, to scheduler.Home) (left bool) {
	b := &o.boxes[to]
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.kept.Load() == 0 && b.asked && b.kept == s.keeps.Load() {
		s.remove(o, to, b)
	}
	piles, err := s.weigh(s.ctx, o)
	for _, p := range piles {
		left = left || p.To == to && p.Count > 0
	}
	return left || err != nil
}

// remove removes letters that have arrived; the box is locked.
func (s *Store) remove(o *owned, to scheduler.Home, b *box) {
	if b.arrived <= b.removed {
		return
	}
	if err := o.store.Delivered(s.ctx, to, b.arrived); err != nil {
		s.failed("links that have arrived are not removed", o, to, err)
		return
	}
	b.removed = b.arrived
}
