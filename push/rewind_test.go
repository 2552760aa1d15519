package push_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

// forgetful restarts every few calls.
type forgetful struct {
	*fakeTarget
	calls, every int
}

func (f *forgetful) count() {
	if f.calls++; f.calls%f.every == 0 {
		f.restart()
	}
}

func (f *forgetful) Push(ctx context.Context, es []push.Entry) ([]push.Refusal, error) {
	f.count()
	return f.fakeTarget.Push(ctx, es)
}

func (f *forgetful) Checkpoint(ctx context.Context, seq uint64) error {
	f.count()
	return f.fakeTarget.Checkpoint(ctx, seq)
}

// TestRelayGetsAheadOfRestarts: an indexer that loses what is not safe every three
// calls gets everything in the end, though a checkpoint is due after many batches.
func TestRelayGetsAheadOfRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, f := pushtest.NewOutbox(), &forgetful{fakeTarget: newFake("a"), every: 3}
		fill(o, 100)
		r := start(t, o, push.TargetSettings{Target: f, BatchCount: 10})
		drained(t, r)
		if len(f.safe) != 100 {
			t.Errorf("%d documents are safe, want 100", len(f.safe))
		}
	})
}
