package partitioned

import (
	"cmp"
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// ofHostKey asks the partition that knows a host; zero if none does.
func ofHostKey[T any](ctx context.Context, s *Store, h weburl.HostKey, ask func(scheduler.Partition) (T, error)) (none T, err error) {
	o, err := s.byHost(ctx, h)
	if err != nil || o == nil {
		return none, err
	}
	defer o.done()
	return ask(o.store)
}

// Queue implements scheduler.Store.
func (s *Store) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	return ofHostKey(ctx, s, p.Host, func(in scheduler.Partition) ([]scheduler.WaitingURL, error) { return in.Queue(ctx, p, after, n) })
}

// Waits implements scheduler.Store.
func (s *Store) Waits(ctx context.Context, p scheduler.Place) (uint64, error) {
	return ofHostKey(ctx, s, p.Host, func(in scheduler.Partition) (uint64, error) { return in.Waits(ctx, p) })
}

// Host implements scheduler.Store.
func (s *Store) Host(ctx context.Context, h weburl.HostKey) (scheduler.HostState, error) {
	return ofHostKey(ctx, s, h, func(in scheduler.Partition) (scheduler.HostState, error) { return in.Host(ctx, h) })
}

// Documents implements scheduler.Store.
func (s *Store) Documents(ctx context.Context, h weburl.HostKey) (scheduler.HostDocuments, error) {
	return ofHostKey(ctx, s, h, func(in scheduler.Partition) (scheduler.HostDocuments, error) { return in.Documents(ctx, h) })
}

// Lookup implements scheduler.Store. It asks all partitions that are here, of which those that do not know the
// URL answer without reading. If some are elsewhere, what none knows gives ErrElsewhere.
func (s *Store) Lookup(ctx context.Context, k weburl.Key) (scheduler.Record, error) {
	o, r, err := s.byKey(ctx, k)
	if err == nil {
		o.done()
	}
	return r, err
}

// Known implements scheduler.Store. What no partition here knows is not known, though one elsewhere may know it.
func (s *Store) Known(ctx context.Context, k weburl.Key) (bool, error) {
	p, err := s.here()
	if err != nil {
		return false, err
	}
	defer p.done()
	for _, o := range p {
		if known, err := o.store.Known(ctx, k); known || err != nil {
			return known, err
		}
	}
	return false, nil
}

// keyed is what walks in order of keys give.
type keyed[T any] struct {
	key   weburl.Key
	value T
}

func byKey[T any](a, b keyed[T]) int { return a.key.Compare(b.key) }

// Inspect implements scheduler.Store. The snapshot is one of each partition.
func (s *Store) Inspect(ctx context.Context, f scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	walk := func(o *owned, yield func(keyed[scheduler.Record]) error) error {
		return o.store.Inspect(ctx, f, func(k weburl.Key, r scheduler.Record) error { return yield(keyed[scheduler.Record]{k, r}) })
	}
	return merged(ctx, s, walk, byKey, func(n keyed[scheduler.Record]) error { return fn(n.key, n.value) })
}

// HeldDeletions implements scheduler.Store.
func (s *Store) HeldDeletions(ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	walk := func(o *owned, yield func(scheduler.StoredDeletion) error) error {
		return o.store.HeldDeletions(ctx, f, yield)
	}
	return merged(ctx, s, walk, bySeq, fn)
}

// Deletions implements scheduler.Store.
func (s *Store) Deletions(ctx context.Context, g scheduler.DeletionGroup, fn func(scheduler.StoredDeletion) error) error {
	if g.Edit != 0 {
		walk := func(o *owned, yield func(scheduler.StoredDeletion) error) error {
			return o.store.Deletions(ctx, g, yield)
		}
		return merged(ctx, s, walk, bySeq, fn)
	}
	o, err := s.byHost(ctx, g.Host)
	if err != nil || o == nil {
		return err
	}
	defer o.done()
	return o.store.Deletions(ctx, g, fn)
}

// DeletionGroups implements scheduler.Store: those of hosts first, then those of edits, which may have some in each
// partition.
func (s *Store) DeletionGroups(ctx context.Context, fn func(scheduler.DeletionGroup, uint64) error) error {
	p, err := s.here()
	if err != nil {
		return err
	}
	defer p.done()
	groups := map[scheduler.DeletionGroup]uint64{}
	for _, o := range p {
		err := o.store.DeletionGroups(ctx, func(g scheduler.DeletionGroup, n uint64) error { groups[g] += n; return nil })
		if err != nil {
			return err
		}
	}
	sorted := make([]scheduler.DeletionGroup, 0, len(groups))
	for g := range groups {
		sorted = append(sorted, g)
	}
	slices.SortFunc(sorted, func(a, b scheduler.DeletionGroup) int {
		return cmp.Or(cmp.Compare(a.Edit, b.Edit), slices.Compare(a.Host[:], b.Host[:]))
	})
	for _, g := range sorted {
		if err := fn(g, groups[g]); err != nil {
			return err
		}
	}
	return nil
}

// Places implements scheduler.Store.
func (s *Store) Places(ctx context.Context, fn func(scheduler.Place, uint64) error) error {
	p, err := s.here()
	if err != nil {
		return err
	}
	defer p.done()
	for _, o := range p {
		if err := s.placesOf(ctx, o, fn); err != nil {
			return err
		}
	}
	return nil
}

// PlacesOf is Places of one partition, for who has adopted it.
func (s *Store) PlacesOf(ctx context.Context, number int, fn func(scheduler.Place, uint64) error) error {
	o, err := s.use(number)
	if err != nil {
		return err
	}
	defer o.done()
	return s.placesOf(ctx, o, fn)
}

func (s *Store) placesOf(ctx context.Context, o *owned, fn func(scheduler.Place, uint64) error) error {
	return o.store.Places(ctx, func(at scheduler.Place, n uint64) error {
		s.learn(o, []scheduler.Place{at})
		return fn(at, n)
	})
}

// Counts implements scheduler.Store: the sum of what is here.
func (s *Store) Counts(ctx context.Context) (scheduler.Counts, error) {
	sum := scheduler.Counts{ByClass: map[scheduler.Class]uint64{}}
	p, err := s.here()
	if err != nil {
		return sum, err
	}
	defer p.done()
	for _, o := range p {
		c, err := o.store.Counts(ctx)
		if err != nil {
			return sum, err
		}
		sum = sum.Plus(c)
	}
	return sum, nil
}

// OutboxBytes are the bodies that no target has safely yet.
func (s *Store) OutboxBytes() (sum uint64) {
	p, err := s.here()
	if err != nil {
		return 0
	}
	defer p.done()
	for _, o := range p {
		sum += o.store.OutboxBytes()
	}
	return sum
}
