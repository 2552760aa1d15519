package partitioned

import (
	"context"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// due is what is known of when a partition's next timed URL is due.
type due struct {
	known bool
	next  time.Time // none is before; zero: none is timed
	since time.Time // the earliest that was stored since Due began
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// dueAt notes that a timed URL is stored.
func (o *owned) dueAt(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due.next, o.due.since = earlier(o.due.next, at), earlier(o.due.since, at)
}

func (o *owned) dueUnknown() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due = due{}
}

// isDue reports whether a URL may be due.
func (o *owned) isDue(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.due.known || !o.due.next.IsZero() && !o.due.next.After(now)
}

// Due implements scheduler.Store. Partitions are asked only if they may have something.
func (s *Store) Due(ctx context.Context, now time.Time, refresh scheduler.Source, n int) ([]scheduler.Place, time.Time, error) {
	p, err := s.here()
	if err != nil {
		return nil, time.Time{}, err
	}
	defer p.done()
	asked := slices.DeleteFunc(slices.Clone(p), func(o *owned) bool { return !o.isDue(now) })
	shares, err := share(ctx, asked, now, n)
	if err != nil {
		return nil, time.Time{}, err
	}
	var places []scheduler.Place
	for i, o := range asked {
		got, err := o.moveDue(ctx, now, refresh, shares[i])
		if err != nil {
			return nil, time.Time{}, err
		}
		places = append(places, s.learn(o, got)...)
	}
	next, err := nextDue(ctx, p, asked, now, refresh)
	return places, next, err
}

// nextDue is when the next one is due. What is known of a partition that was not asked may be too early: its URL may have
// gone.
func nextDue(ctx context.Context, p, asked parts, now time.Time, refresh scheduler.Source) (time.Time, error) {
	for {
		var first *owned
		var next time.Time
		for _, o := range p {
			o.mu.Lock()
			if at := o.due.next; !at.IsZero() && (next.IsZero() || at.Before(next)) {
				first, next = o, at
			}
			o.mu.Unlock()
		}
		if first == nil || slices.Contains(asked, first) {
			return next, nil
		}
		if _, err := first.moveDue(ctx, now, refresh, 0); err != nil {
			return next, err
		}
		asked = append(asked, first)
	}
}

func (o *owned) moveDue(ctx context.Context, now time.Time, refresh scheduler.Source, n int) ([]scheduler.Place, error) {
	o.mu.Lock()
	o.due.since = time.Time{}
	o.mu.Unlock()
	places, next, err := o.store.Due(ctx, now, refresh, n)
	if err != nil {
		o.dueUnknown()
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due.known, o.due.next = true, earlier(next, o.due.since)
	return places, nil
}

// share divides n among partitions, so that the earliest of all are moved.
func share(ctx context.Context, p parts, now time.Time, n int) ([]int, error) {
	shares := make([]int, len(p))
	if len(p) == 1 {
		shares[0] = n
	}
	if len(p) < 2 || n <= 0 {
		return shares, nil
	}
	type one struct {
		at time.Time
		of int
	}
	var all []one
	for i, o := range p {
		times, err := o.store.Timed(ctx, now, n)
		if err != nil {
			return nil, err
		}
		for _, at := range times {
			all = append(all, one{at, i})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return a.at.Compare(b.at) })
	for _, at := range all[:min(n, len(all))] {
		shares[at.of]++
	}
	return shares, nil
}
