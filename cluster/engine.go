package cluster

import (
	"context"
	"errors"
)

// Errors of an Engine; test with errors.Is. An error of Commit that is none of the Refused
// kind leaves in doubt whether the step was taken.
var (
	// ErrRefused says that nothing of a step was done, and that nothing of it will be.
	ErrRefused = errors.New("the engine refused the step")
	// ErrBusy, ErrTooLarge and ErrFull are ErrRefused too. What is busy may be tried again.
	ErrBusy     = refusal("the engine has too much to do")
	ErrTooLarge = refusal("the step is larger than the engine takes")
	ErrFull     = refusal("the engine has no space left")
	// ErrInDoubt says that the engine did not answer: the step may have been taken, or be
	// taken later.
	ErrInDoubt = errors.New("the engine did not answer: whether it took the step is not known")
	// ErrUnavailable says that a read could not be answered.
	ErrUnavailable = errors.New("the engine cannot be reached")
	// ErrUntrusted says that the engine cannot be trusted with a log: its version has lost data, or its machines do not belong together.
	ErrUntrusted = errors.New("the engine is refused")
)

// Passes reports whether an error of an Engine may pass by itself.
func Passes(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInDoubt) || errors.Is(err, ErrBusy)
}

// refused is an error that is ErrRefused too.
type refused struct{ text string }

func refusal(text string) error { return &refused{text} }

func (r *refused) Error() string { return r.text }

// Is reports whether target is ErrRefused.
func (r *refused) Is(target error) bool { return target == ErrRefused }

// Revision counts the steps that an engine has taken, whatever they changed. A key's revision is that
// of the step that wrote it last; 0 stands for a key that is absent. A key that is removed and written
// again has a higher one, so that no two states of it have the same.
type Revision int64

// Condition holds if the key's revision is the one given; 0: if it is absent.
type Condition struct {
	Key      string
	Revision Revision
}

// Write puts Value at Key. With Remove it removes Key, and with To besides, all keys
// from Key up to but not including To. No two writes of a step touch the same key.
type Write struct {
	Key    string
	Value  []byte
	Remove bool
	To     string
}

// Step is what an engine does whole or not at all.
type Step struct {
	If   []Condition
	Then []Write
}

// KeyValue is a key as it was at some revision of the engine. An absent one has Revision 0.
type KeyValue struct {
	Key      string
	Value    []byte
	Revision Revision
}

// Outcome is the answer to a step.
type Outcome struct {
	// Taken says that all conditions held and all writes were done.
	Taken bool
	// Revision is that of the step if it was taken, else of the engine as it was looked at.
	Revision Revision
	// Found has, of a step that was not taken, the keys of its conditions, in their order.
	Found []KeyValue
}

// ListAll gives all keys of a range. An engine gives fewer than it is asked for, where answers were slow, and whoever takes the first of them for all
// takes nodes for lost. They are not of one moment, and the view's revision is that of the first.
func ListAll(ctx context.Context, e interface {
	List(ctx context.Context, from, to string, limit int) (View, error)
}, from, to string) (all View, err error) {
	const atOnce = 1000
	for {
		v, err := e.List(ctx, from, to, atOnce)
		if err != nil {
			return View{}, err
		}
		if all.Revision == 0 {
			all.Revision = v.Revision
		}
		all.Keys = append(all.Keys, v.Keys...)
		if !v.More || len(v.Keys) == 0 {
			return all, nil
		}
		from = v.Keys[len(v.Keys)-1].Key + "\x00"
	}
}

// View is what a read found, all of it as of one Revision of the engine.
type View struct {
	Revision Revision
	Keys     []KeyValue
	// More says that a list was cut short; the rest is read with another call.
	More bool
}

// Usage is how full an engine is.
type Usage struct {
	InUse int64 // bytes that hold something
	File  int64 // bytes on disk, free ones included
	Quota int64 // where the engine stops taking steps
}

// Limits of one step, below those of every engine that is supported.
const (
	MaxStepBytes  = 1 << 20 // keys and values
	MaxStepWrites = 100     // and as many conditions
)

// Engine is a small store that all nodes of a cluster reach. Commit, Read and List are strictly
// serializable together: each happens at one moment between its call and its answer, whatever
// node calls, and whichever of the engine's machines die, stop or are cut off meanwhile. What was answered as taken
// stays taken if any minority of its machines is lost. An engine needs neither leases nor a
// clock, and its watches need not be complete. All methods may be called at once, and return soon after ctx ends.
//
// clustertest.Run is this contract as a suite.
type Engine interface {
	// Check says whether the engine can be trusted: ErrUntrusted with what to do if not. It asks each
	// machine that answers; ErrUnavailable if none does.
	Check(ctx context.Context) error

	// Commit takes a step if its conditions hold. It sends it once: a step that was sent may
	// have been taken, or be taken any time later, also after a second Commit of the same step
	// was answered. So the error is ErrRefused only if that is excluded, and else ErrInDoubt.
	// It gives up after a second or two without an answer, so that the caller can
	// ask another machine by calling again.
	Commit(ctx context.Context, s Step) (Outcome, error)

	// Read gives the keys named, in their order.
	Read(ctx context.Context, keys ...string) (View, error)

	// List gives the keys from from up to but not including to, in order of their bytes, at most
	// limit of them. It gives at least one if there is any, and may give fewer with More.
	List(ctx context.Context, from, to string, limit int) (View, error)

	// Wait returns when the key was changed after the revision, or perhaps earlier: it wakes, it does
	// not tell. Who must know reads, each second at the latest.
	Wait(ctx context.Context, key string, after Revision) error

	// Usage says how full the fullest machine that answers is, or was a moment ago.
	Usage(ctx context.Context) (Usage, error)

	// Compact gives back the space of what was removed or overwritten. Revisions of keys stay.
	Compact(ctx context.Context) error

	// Close ends the use of the engine. Calls under way fail.
	Close() error
}
