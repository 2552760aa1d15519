package whole

// walks.go: walks over the stores of nodes, merged in their order. iter.Pull runs the one over this node's store beside who reads it.

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// walking is a walk that is merged, and what it has come to.
type walking[T any] struct {
	*part // nil: this node
	value T
	next  func() (T, bool)
	err   error
}

// errStop ends a walk over what is here.
var errStop = errors.New("enough was read")

// gather calls fn for what all nodes give, in the order of compare, in which each gives its own.
func gather[T any](ctx context.Context, g *Gathered, q *storeQuestion, own func(yield func(T) error) error, of func(*row) T, compare func(a, b T) int, fn func(T) error) error {
	parts, err := g.open(ctx, q)
	if err != nil {
		return err
	}
	defer closeAll(parts)
	here := &walking[T]{}
	next, stop := iter.Pull(func(yield func(T) bool) {
		err := own(func(v T) error {
			if !yield(v) {
				return errStop
			}
			return nil
		})
		if !errors.Is(err, errStop) {
			here.err = err
		}
	})
	defer stop()
	here.next = next
	all := []*walking[T]{here}
	for _, p := range parts {
		f := frames{part: p}
		all = append(all, &walking[T]{part: p, next: func() (v T, more bool) {
			r := f.next()
			if r == nil {
				return v, false
			}
			return of(r), true
		}})
	}
	return mergeWalks(ctx, g, all, compare, fn)
}

func mergeWalks[T any](ctx context.Context, g *Gathered, all []*walking[T], compare func(a, b T) int, fn func(T) error) error {
	var live []*walking[T]
	for _, w := range all {
		if more, err := w.step(ctx, g, nil); err != nil {
			return err
		} else if more {
			live = append(live, w)
		}
	}
	for len(live) > 0 {
		least := 0
		for i := range live {
			if compare(live[i].value, live[least].value) < 0 {
				least = i
			}
		}
		w := live[least]
		if err := fn(w.value); err != nil {
			return err
		}
		if more, err := w.step(ctx, g, compare); err != nil {
			return err
		} else if !more {
			live = slices.Delete(live, least, least+1)
		}
	}
	return nil
}

// step goes on. A node that is not in order is lost.
func (w *walking[T]) step(ctx context.Context, g *Gathered, compare func(a, b T) int) (more bool, err error) {
	last := w.value
	w.value, more = w.next()
	if w.part == nil {
		return more, w.err
	}
	if more && compare != nil && compare(w.value, last) < 0 {
		w.fail("what it has is not in order")
		more = false
	}
	if w.part.err == nil {
		return more, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return false, g.lose(w.part)
}
