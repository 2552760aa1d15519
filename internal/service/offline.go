package service

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// ReadStore is WithStore for a store that must not change.
func ReadStore(
	ctx context.Context, h Home, log *slog.Logger, fn func(context.Context, *badgerstore.Store) error,
) error {
	return WithStore(ctx, h, badgerstore.Options{ReadOnly: true, Logger: log}, fn)
}

// WithKnownStore is WithStore for a store that must exist.
func WithKnownStore(
	ctx context.Context, h Home, o badgerstore.Options, fn func(context.Context, *badgerstore.Store) error,
) error {
	if !badgerstore.Exists(h.Store()) {
		return fmt.Errorf("%s holds no store: nothing was crawled there yet, or --data names another directory", h.Dir)
	}
	return WithStore(ctx, h, o, fn)
}

// WithStore opens a store that no service has open, calls fn, and closes it.
func WithStore(
	ctx context.Context, h Home, o badgerstore.Options, fn func(context.Context, *badgerstore.Store) error,
) (err error) {
	store, err := openPatiently(ctx, h, o)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	return fn(ctx, store)
}
