package push

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/histogram"
)

// Times are the durations of a target's calls since the process started, without those interrupted when the relay
// stopped.
type Times struct {
	Kind       string             // TargetSettings.Kind
	Push       histogram.Snapshot // a batch, with the repetitions of its requests
	Checkpoint histogram.Snapshot // of a checkpoint
	Failures   uint64             // of either, and of reading the outbox
}

// times are the durations of one target.
type times struct {
	push, checkpoint histogram.Histogram
	failures         atomic.Uint64
}

func (t *times) pushed(ctx context.Context, began time.Time) { observe(ctx, &t.push, began) }

func (t *times) madeSafe(ctx context.Context, began time.Time) { observe(ctx, &t.checkpoint, began) }

func observe(ctx context.Context, h *histogram.Histogram, began time.Time) {
	if ctx.Err() == nil {
		h.Observe(time.Since(began))
	}
}

// Times is a snapshot of all targets, in the order of NewRelay.
func (r *Relay) Times() []Times {
	out := make([]Times, len(r.deliveries))
	for i, d := range r.deliveries {
		out[i] = Times{Kind: d.set.Kind, Push: d.times.push.Snapshot(), Checkpoint: d.times.checkpoint.Snapshot(), Failures: d.times.failures.Load()}
	}
	return out
}
