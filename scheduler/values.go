package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/weburl"
)

// Named values are stored as JSON, unless their owner has its own format.

// Lookuper is the part of a Store that Find uses.
type Lookuper interface {
	Lookup(ctx context.Context, k weburl.Key) (Record, error)
}

// KeySet is the part of a Store that Known uses.
type KeySet interface {
	Lookuper
	Remembers(k weburl.Key) bool
}

// Known reports whether a URL is known to the store. See Reader.Remembers.
func Known(ctx context.Context, store KeySet, k weburl.Key) (bool, error) {
	if store.Remembers(k) {
		return true, ctx.Err()
	}
	_, err := store.Lookup(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Find returns the record of a URL, nil if it is unknown.
func Find(ctx context.Context, store Lookuper, k weburl.Key) (*Record, error) {
	r, err := store.Lookup(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return nil, nil //nolint:nilnil // unknown is not an error
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// ValueReader is the part of a Store that LoadValue reads.
type ValueReader interface {
	Value(ctx context.Context, name ValueName) ([]byte, error)
}

// Values is the part of a Store that holds named values.
type Values interface {
	ValueReader
	SetValue(ctx context.Context, name ValueName, v []byte) error
}

// LoadValue reads a value that SaveValue stored into v, which stays as it is if there is none. what names the value in
// errors.
func LoadValue(ctx context.Context, store ValueReader, name ValueName, what string, v any) error {
	b, err := store.Value(ctx, name)
	if err != nil || len(b) == 0 {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %s cannot be read: %w", ErrDamaged, what, err)
	}
	return nil
}

// SaveValue stores v as JSON.
func SaveValue(ctx context.Context, store Values, name ValueName, what string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		err = store.SetValue(ctx, name, b)
	}
	if err != nil {
		return fmt.Errorf("storing %s: %w", what, err)
	}
	return nil
}
