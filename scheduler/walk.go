package scheduler

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// WalkBatch is how many records Walk hands over at once.
	WalkBatch = 1000
	// WalkRead is how many records Walk reads at most to find those of one batch.
	WalkRead = 100 * WalkBatch
)

// KeyedRecord is a record as it was read, with its key.
type KeyedRecord struct {
	Key    weburl.Key
	Record Record
}

// Inspector is the part of a Store that Walk reads.
type Inspector interface {
	Inspect(ctx context.Context, f Filter, fn func(weburl.Key, Record) error) error
}

// Walk calls fn with the records from a key on that keep accepts, in batches in order of
// keys. The store is not being read while fn runs. A record that is stored meanwhile may
// be among them or not.
func Walk(ctx context.Context, store Inspector, from weburl.Key, keep func(*Record) bool, fn func([]KeyedRecord) error) error {
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

// errEnough ends the reading of a batch.
var errEnough = errors.New("enough was read")

// ReadBatch reads records in order of keys: up to most that keep accepts, out of up to all.
// It returns the key to go on from, unless last says that there are no others. Do slow work
// after it has returned: a reader holds old versions on disk. For the same reason keep
// alone selects: records that the store passes over itself would not count.
func ReadBatch(ctx context.Context, store Inspector, from weburl.Key, most, all int, keep func(*Record) bool) (
	batch []KeyedRecord, next weburl.Key, last bool, err error,
) {
	read := 0
	err = store.Inspect(ctx, Filter{From: from}, func(k weburl.Key, r Record) error {
		if len(batch) == most || read == all {
			next = k
			return errEnough
		}
		if read++; keep(&r) {
			batch = append(batch, KeyedRecord{k, r})
		}
		return ctx.Err()
	})
	if errors.Is(err, errEnough) {
		return batch, next, false, nil
	}
	return batch, next, true, err
}
