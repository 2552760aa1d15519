// Package permit is the right of a process to ask sites and indexers for anything. A process that is alone has it
// always, and then nothing here is called. One that shares its work with others has it while none of them can have taken
// its place: see Right, whose mutex guards how long it holds; the goroutine that beats, Watch and the callers of May and
// Acting take it. The package starts no goroutine.
package permit

import (
	"context"
	"errors"
	"fmt"
)

// ErrEnded says that a request was not made, or was cut, because this process may not ask for anything at the
// moment. It says nothing about the server that was to be asked.
var ErrEnded = errors.New("this process may not ask sites and indexers for anything now")

// Permit reports whether requests may be made. Its methods may be called at once.
type Permit interface {
	// Acting waits until requests may be made, and returns a context that ends when they may no longer.
	// cancel must be called.
	Acting(ctx context.Context) (acting context.Context, cancel context.CancelFunc, err error)
	// May reports whether a request may be made at this moment. A process that was stopped wakes up before
	// its timers do: once May has said no, all contexts that Acting gave before end, without waiting for a timer.
	May() bool
}

// key is that of the Permit in a context that Begin gave.
type key struct{}

// Begin waits until p lets requests be made, and returns ctx under it: it ends when they may no longer. A ctx that is
// under a permit already is returned as it is, and so is every ctx if p is nil. Call end when done.
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

// May reports whether a request may be made under ctx at this moment.
func May(ctx context.Context) bool {
	p, under := ctx.Value(key{}).(Permit)
	return !under || p.May()
}

// Check returns what stands right before a request. If it may not be made, ctx has ended when Check returns its error,
// so that whoever sees that error also sees why.
func Check(ctx context.Context) error {
	if May(ctx) {
		return nil
	}
	<-ctx.Done()
	return fmt.Errorf("%w: %w", ErrEnded, context.Cause(ctx))
}

// Ended reports whether err says no more than that the permit over a context ended, while the context that it was made
// from, outer, goes on: the work is to be done again, and nobody is to blame.
func Ended(outer, under context.Context, err error) bool {
	return outer.Err() == nil && under.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ErrEnded))
}
