// Package permit is the right of a process to make requests to sites and targets. A process that runs alone always has
// it and does not use this package. A process that shares its work with others has it as long as no other can have
// taken its place: see Right, whose mutex guards its expiry; the goroutine that sends heartbeats, Watch and the callers
// of May and Acting take it. The package starts no goroutine.
package permit

import (
	"context"
	"errors"
	"fmt"
)

// ErrEnded reports that a request was not made, or was cut, because this process may not make requests at the moment.
// It does not concern the server.
var ErrEnded = errors.New("this process must not send requests to sites and indexers now")

// Permit grants requests. Its methods may be called concurrently.
type Permit interface {
	// Acting waits until requests may be made, and returns a context that ends when they may no longer.
	// cancel must be called.
	Acting(ctx context.Context) (acting context.Context, cancel context.CancelFunc, err error)
	// May reports whether a request may be made now. A process that was stopped wakes up before its timers do: once May
	// has returned false, all earlier contexts of Acting end, without waiting for a timer.
	May() bool
}

// key is the context key of the Permit that Begin stores.
type key struct{}

// Begin waits until p permits requests, and returns ctx under it, which ends when they are no longer permitted. A ctx
// already under a permit is returned unchanged, and so is every ctx if p is nil. Call end when done.
func Begin(ctx context.Context, p Permit) (under context.Context, end context.CancelFunc, err error) {
	if p == nil {
		return ctx, nothing, nil
	}
	if Asked(ctx) {
		return ctx, nothing, ctx.Err()
	}
	under, end, err = p.Acting(context.WithValue(ctx, key{}, p))
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return under, end, err
}

func nothing() {}

// Await waits until requests may be made.
func Await(ctx context.Context, p Permit) error {
	_, end, err := Begin(ctx, p)
	if err == nil {
		end()
	}
	return err
}

// Asked reports whether ctx is under a permit.
func Asked(ctx context.Context) bool { return ctx.Value(key{}) != nil }

// May reports whether a request may be made under ctx now.
func May(ctx context.Context) bool {
	p, under := ctx.Value(key{}).(Permit)
	return !under || p.May()
}

// Check returns nil if a request may be made under ctx now. Call it right before the request. If it returns an error,
// ctx has ended.
func Check(ctx context.Context) error {
	if May(ctx) {
		return nil
	}
	<-ctx.Done()
	return fmt.Errorf("%w: %w", ErrEnded, context.Cause(ctx))
}

// Ended reports whether err means only that the permit over a context ended, while outer, its parent, is still active:
// repeat the work, it has not failed.
func Ended(outer, under context.Context, err error) bool {
	return outer.Err() == nil && under.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ErrEnded))
}
