package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// lookup gives what is stored of a URL, nil where it is not known.
func lookup(ctx context.Context, store scheduler.Reader, k weburl.Key) (*scheduler.Record, error) {
	r, err := store.Lookup(ctx, k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return nil, nil //nolint:nilnil // that it is not known is no error
	}
	return &r, err
}

// loadValue reads a value of the store, as JSON, into v, which stays as it is where
// there is none. What says in an error what the value is.
func loadValue(ctx context.Context, store scheduler.Reader, name, what string, v any) error {
	b, err := store.Value(ctx, name)
	if err != nil || len(b) == 0 {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %s cannot be read: %w", scheduler.ErrDamaged, what, err)
	}
	return nil
}

// saveValue stores v for loadValue.
func saveValue(ctx context.Context, store scheduler.Store, name, what string, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		err = store.SetValue(ctx, name, b)
	}
	if err != nil {
		return fmt.Errorf("storing %s: %w", what, err)
	}
	return nil
}
