package partitioned

import (
	"context"
	"errors"
	"iter"

	"github.com/sextant-crawler/sextant/scheduler"
)

var errStop = errors.New("stop")

// head is the walk over one partition, and what it has come to.
type head[T any] struct {
	value T
	next  func() (T, bool)
	err   *error
}

// step goes on; more is false at the end.
func (h *head[T]) step() (more bool, err error) {
	if h.value, more = h.next(); !more && *h.err != nil {
		return false, *h.err
	}
	return more, nil
}

// merge calls fn for what the walks over partitions give, each in its own order, in the order of compare. All walks begin
// before fn is called.
func merge[T any](s *Store, p parts, walk func(o *owned, yield func(T) error) error, compare func(a, b T) int, fn func(T) error) error {
	heads := make([]*head[T], 0, len(p))
	for _, o := range p {
		var failed error
		next, stop := iter.Pull(values(s, o, walk, &failed))
		defer stop()
		h := &head[T]{next: next, err: &failed}
		more, err := h.step()
		if err != nil {
			return err
		}
		if more {
			heads = append(heads, h)
		}
	}
	for len(heads) > 0 {
		least := 0
		for i := 1; i < len(heads); i++ {
			if compare(heads[i].value, heads[least].value) < 0 {
				least = i
			}
		}
		if err := fn(heads[least].value); err != nil {
			return err
		}
		more, err := heads[least].step()
		if err != nil {
			return err
		}
		if !more {
			heads = append(heads[:least], heads[least+1:]...)
		}
	}
	return nil
}

// values is what a walk over a partition gives; what it fails with is put into failed.
func values[T any](s *Store, o *owned, walk func(o *owned, yield func(T) error) error, failed *error) iter.Seq[T] {
	return func(yield func(T) bool) {
		err := walk(o, func(v T) error {
			select {
			case <-o.quit:
				return s.gone(o)
			default:
			}
			if !yield(v) {
				return errStop
			}
			return nil
		})
		if !errors.Is(err, errStop) {
			*failed = err
		}
	}
}

// merged is merge over all that are here.
func merged[T any](ctx context.Context, s *Store, walk func(o *owned, yield func(T) error) error, compare func(a, b T) int, fn func(T) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := s.here()
	if err != nil {
		return err
	}
	defer p.done()
	return merge(s, p, walk, compare, fn)
}

// bySeq is the order of deletions: their numbers come from one clock where the partitions share it.
func bySeq(a, b scheduler.StoredDeletion) int {
	switch {
	case a.Seq < b.Seq:
		return -1
	case a.Seq > b.Seq:
		return 1
	}
	return a.Key.Compare(b.Key)
}

// Merged calls fn for what a walk gives over each partition that is here, in the order of compare, in which each walk has its own.
func Merged[T any](ctx context.Context, s *Store, walk func(p scheduler.Partition, yield func(T) error) error, compare func(a, b T) int, fn func(T) error) error {
	return merged(ctx, s, func(o *owned, yield func(T) error) error { return walk(o.store, yield) }, compare, fn)
}

// Each calls fn for each partition that is here, in order of their numbers, until one fails. None of them is released meanwhile.
func (s *Store) Each(fn func(number int, p scheduler.Partition) error) error {
	p, err := s.here()
	if err != nil {
		return err
	}
	defer p.done()
	for _, o := range p {
		if err := fn(o.number, o.store); err != nil {
			return err
		}
	}
	return nil
}
