package push_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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

// TestRelayUrged: what is pushed becomes safe at once while somebody waits for
// room in the outbox, though more may come.
func TestRelayUrged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		fill(o, 10)
		r := start(t, o, push.TargetSettings{Target: a, BatchAge: time.Hour, CheckpointAge: time.Hour})
		synctest.Wait()
		if len(a.safe) != 0 {
			t.Fatalf("%d documents are safe before their time", len(a.safe))
		}
		done := r.Flush()
		synctest.Wait()
		done()
		if len(a.safe) != 10 {
			t.Errorf("%d documents are safe, want 10", len(a.safe))
		}
	})
}
