package pgkv

import (
	"context"
	"errors"
	"time"
)

// sweepEvery is the time between two searches for expired keys, which have months to live.
const sweepEvery = 24 * time.Hour

// Sweep drops expired keys once a day, beside the commits, until ctx ends. It returns the error of ctx, or that of a
// key that cannot be read.
func (e *Engine) Sweep(ctx context.Context) error {
	for {
		if err := e.sweep(ctx, time.Now()); err != nil && !errors.Is(err, errMoved) {
			return err
		}
		if err := e.o.Clock.Sleep(ctx, sweepEvery); err != nil {
			return err
		}
	}
}

// drop removes keys that have not changed since they were read.
const drop = `DELETE FROM kv USING unnest($4::bytea[], $5::bytea[]) AS x (k, v)
	WHERE part = $3 AND kv.k = x.k AND kv.v = x.v AND EXISTS (SELECT FROM n)`

func (e *Engine) sweep(ctx context.Context, now time.Time) error {
	prefix := []byte{e.Expiring}
	for from := prefix; from != nil; {
		var expired []pair
		var err error
		if expired, from, err = e.expired(ctx, prefix, from, now); err != nil || len(expired) == 0 {
			return err
		}
		var keys, values [][]byte
		for _, p := range expired {
			keys, values = append(keys, p.key), append(values, p.value)
		}
		if err := e.write(drop, e.Part, keys, values); err != nil {
			return err
		}
	}
	return nil
}

// errFull ends a walk that has found enough.
var errFull = errors.New("enough keys")

// expired returns up to lastPage expired keys, and where to go on; nil: there are no more.
func (e *Engine) expired(
	ctx context.Context, prefix, from []byte, now time.Time,
) (found []pair, next []byte, err error) {
	view := e.View()
	defer view.Close()
	err = view.Walk(prefix, from, true, func(key, value []byte) error {
		if at := e.Expires(key, value); at > 0 && at <= uint64(now.Unix()) { //nolint:gosec // after 1970
			found = append(found, pair{key, value})
		}
		if len(found) == lastPage {
			next = append(key, 0) //nolint:gocritic // of the last key
			return errFull
		}
		return ctx.Err()
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return found, next, err
}
