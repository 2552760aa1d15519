package scheduler

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// WalkBatch is the number of records that Walk passes to fn at once.
	WalkBatch = 1000
	// WalkRead is the most records that Walk reads for one batch.
	WalkRead = 100 * WalkBatch
)

// KeyedRecord is a record with its key.
type KeyedRecord struct {
	Key    weburl.Key
	Record Record
}

// Inspector is the part of a Store that Walk reads.
type Inspector interface {
	Inspect(ctx context.Context, f Filter, fn func(weburl.Key, Record) error) error
}

// Walk calls fn with the records from a key on that keep accepts, in batches in order of keys. The store is not being
// read while fn runs. Records stored in the meantime may be missing.
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

// ReadBatch reads records in order of keys: up to most that keep accepts, out of up to all. It returns the next key to
// read, unless last is true. Do slow work after it has returned, since a reader holds old versions on disk. Only keep
// selects, not the store, since all counts every record read.
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
