package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
)

// The number of keys in the first page and in the largest; each page has twice as many as the one before.
const (
	firstPage = 16
	lastPage  = 1024
)

// pages calls fn for the keys with a prefix, from the key from on, until fn returns an error (errEnough: none). fn may
// commit: keys are read in pages, each in a separate snapshot, so that no snapshot is held over a commit. Keys stored
// beyond the current page are found; keys that fn removes there are not.
func (g *group) pages(prefix, from []byte, values bool, fn func(key, value []byte) error) error {
	type entry struct{ key, value []byte }
	for size := firstPage; ; size = min(2*size, lastPage) {
		page := make([]entry, 0, size)
		view := g.s.kv.View()
		err := view.Walk(prefix, from, values, func(key, value []byte) error {
			if page = append(page, entry{bytes.Clone(key), bytes.Clone(value)}); len(page) == size {
				return errEnough
			}
			return nil
		})
		view.Close()
		for i := range page {
			if err := fn(page[i].key, page[i].value); err != nil {
				return enough(err)
			}
		}
		if !errors.Is(err, errEnough) {
			return err
		}
		from = slices.Concat(page[size-1].key, []byte{0})
	}
}

// pagesUntil is pages, but ends with ctx or the store.
func (g *group) pagesUntil(ctx context.Context, prefix, from []byte, values bool, fn func(key, value []byte) error) error {
	return g.pages(prefix, from, values, func(key, value []byte) error {
		if err := g.s.ended(ctx); err != nil {
			return err
		}
		return fn(key, value)
	})
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// enough returns the error of a walk, nil for errEnough.
func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
