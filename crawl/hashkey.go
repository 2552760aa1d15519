package crawl

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/scheduler"
)

// hashKeyName is the value with the key of document hashes. It is stored with the hashes, so that a backup contains it.
const hashKeyName = "crawl.hashkey"

// hashKey returns the store's key for the hashes of documents. It creates one in a new store.
func hashKey(ctx context.Context, store Store) (key visit.HashKey, err error) {
	stored, err := store.Value(ctx, scheduler.CrawlValue(hashKeyName))
	switch {
	case err != nil:
		return key, fmt.Errorf("reading the key of document hashes: %w", err)
	case len(stored) == len(key):
		return visit.HashKey(stored), nil
	case len(stored) > 0:
		return key, fmt.Errorf("%w: the key of document hashes has %d bytes, want %d", scheduler.ErrDamaged, len(stored), len(key))
	}
	_, _ = rand.Read(key[:]) // it never fails
	if err := store.SetValue(ctx, scheduler.CrawlValue(hashKeyName), key[:]); err != nil {
		return key, fmt.Errorf("storing the key of document hashes: %w", err)
	}
	return key, nil
}
