package scheduler

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/weburl"
)

// Stored is a URL as it is stored.
type Stored struct {
	Key    weburl.Key
	Record Record
}

// The bounds of Walk.
const (
	// WalkBatch is how many URLs Walk hands over at once, and WalkRead how many it reads
	// at most to find them.
	WalkBatch = 1000
	WalkRead  = 100 * WalkBatch
)

// ErrEnough ends a walk over a store early; the functions that walk here do not return it.
var ErrEnough = errors.New("enough was read")

// Walk calls fn with the stored URLs that keep accepts, from a key on, in batches in order
// of keys. The store is not being read while fn runs. A URL that is stored meanwhile may
// be among them or not.
func Walk(ctx context.Context, store Reader, from weburl.Key, keep func(*Record) bool, fn func([]Stored) error) error {
	for {
		batch, next, last, err := ReadBatch(ctx, store, from, WalkBatch, WalkRead, keep)
		if err != nil {
			return err
		}
		if err := fn(batch); err != nil || last {
			return err
		}
		from = next
	}
}

// ReadBatch reads up to all stored URLs in order of keys, and returns up to most of them
// that keep accepts. Next is where to go on, unless last is true. Do what takes long with
// them after it has returned: a reader keeps old versions on disk. For the same reason
// only keep selects: what a Filter passes over would not be counted.
func ReadBatch(ctx context.Context, store Reader, from weburl.Key, most, all int, keep func(*Record) bool) (
	batch []Stored, next weburl.Key, last bool, err error,
) {
	read := 0
	err = store.Inspect(ctx, Filter{From: from}, func(k weburl.Key, r Record) error {
		if len(batch) == most || read == all {
			next = k
			return ErrEnough
		}
		if read++; keep(&r) {
			batch = append(batch, Stored{k, r})
		}
		return ctx.Err()
	})
	if errors.Is(err, ErrEnough) {
		return batch, next, false, nil
	}
	return batch, next, true, err
}
