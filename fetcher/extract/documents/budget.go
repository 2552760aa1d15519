package documents

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// budget.mu guards all fields of a budget: its timer runs in a goroutine of its own.

// wallFactor is the ratio of the limits of wall time and CPU time. On a busy machine a process waits for most of its
// life, which is not the document's fault.
const wallFactor = 10

// budget calls over, once, when a process has used a limit of CPU time since start, or after wallFactor times that in
// wall time. If CPU time cannot be measured, the limit is one of wall time.
type budget struct {
	// cpu returns the CPU time that the process has used so far.
	cpu  func() (time.Duration, bool)
	over func()

	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
	begun time.Time
	used  time.Duration // CPU time before start
	state budgetState
}

type budgetState uint8

const (
	budgetRuns budgetState = iota
	budgetStopped
	budgetSpent
)

// start starts the time, or restarts it with another limit, unless it is over.
func (b *budget) start(limit time.Duration) {
	used, _ := b.cpu()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == budgetSpent {
		return
	}
	b.limit, b.begun, b.used = limit, time.Now(), used
	if b.timer == nil {
		b.timer = time.AfterFunc(limit, b.look)
	} else {
		b.timer.Reset(limit)
	}
}

// stop stops the time, and reports whether over was and will not be called.
func (b *budget) stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == budgetRuns {
		b.state = budgetStopped
		b.timer.Stop()
	}
	return b.state == budgetStopped
}

// look calls over if the limit is reached, or schedules the next check.
func (b *budget) look() {
	cpu, measured := b.cpu()
	b.mu.Lock()
	left := b.left(cpu, measured)
	if b.state != budgetRuns || left > 0 {
		if b.state == budgetRuns {
			b.timer.Reset(left)
		}
		b.mu.Unlock()
		return
	}
	b.state = budgetSpent
	b.mu.Unlock()
	b.over()
}

// left returns the time until the next check, 0 or less when the limit is reached.
func (b *budget) left(cpu time.Duration, measured bool) time.Duration {
	passed := time.Since(b.begun)
	if !measured {
		return b.limit - passed
	}
	left := min(b.limit-(cpu-b.used), wallFactor*b.limit-passed)
	if left > 0 {
		left = max(left, time.Millisecond)
	}
	return left
}

// tooSlow returns the message for an exceeded limit.
func tooSlow(limit time.Duration) string {
	return fmt.Sprintf("reading it took more than %s of CPU time, or %s of elapsed time", limit, wallFactor*limit)
}

// withBudget returns a context that ends when this process has used so much CPU time.
func withBudget(limit time.Duration) (ctx context.Context, cancel func()) {
	ctx, end := context.WithCancel(context.Background())
	b := &budget{cpu: ownCPUTime, over: end}
	b.start(limit)
	return ctx, func() { b.stop(); end() }
}
