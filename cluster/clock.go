package cluster

import (
	"context"
	"time"
)

// Clock is a node's own clock. No clock of another node is ever compared with it, except for
// notices: only lengths of time count, and the rules hold as long as no two clocks run apart by more than
// two parts in seven (Times).
type Clock interface {
	// Now is a reading that never goes back and also counts while the machine sleeps.
	Now() time.Duration
	// Sleep waits for d by this clock, or until ctx ends, whose error it then gives.
	Sleep(ctx context.Context, d time.Duration) error
	// Wall is the time of day, for people.
	Wall() time.Time
}

// SystemClock is the machine's clock: CLOCK_BOOTTIME where there is one, since Go's monotonic
// clock stands still while a machine sleeps.
type SystemClock struct{}

// Now is the time since the machine started.
func (SystemClock) Now() time.Duration { return sinceBoot() }

// Sleep waits. While the machine sleeps it does not wake; whoever acts asks Now again.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Wall is the time of day.
func (SystemClock) Wall() time.Time { return time.Now() }

// Times are the lengths that a cluster lives by. All nodes must have the same; tests alone have others.
//
// An owner may act until Right after it SENT the last beat that was committed. A standby claims when it
// saw no new beat for Silence, counted from the END of the read that saw the last one. The last beat was
// sent before it was committed, and committed before that read ended, so the right is over at least Silence − Right
// before the claim is sent, as long as no two clocks differ in speed by more than Silence / Right.
type Times struct {
	Beat    time.Duration // between two beats, and between two looks at the owner's
	Right   time.Duration
	Silence time.Duration
	Sync    time.Duration // between two syncs of a copy, and other chores
	Compact time.Duration
	Lag     time.Duration // how long a copy may make no progress before it leaves the in-sync set
	Retry   time.Duration // the first pause after an engine did not answer; the longest is Beat
	// Step is the least time from one step of appends to the next one, where a node may have several partitions.
	Step time.Duration
	// Follow is the least time from one look of a copy at the end of the log to the next one.
	Follow time.Duration
	// HandOver is how long an owner may take to end what is in flight when a partition goes to another node.
	HandOver time.Duration
	// Gone is how long a node may be away before its copies are made anew elsewhere.
	Gone time.Duration
}

// DefaultTimes are what docs/decisions/0038 reckons with.
func DefaultTimes() Times {
	return Times{
		Beat: time.Second, Right: 2500 * time.Millisecond, Silence: 3500 * time.Millisecond,
		Sync: 5 * time.Second, Compact: time.Minute, Lag: 10 * time.Minute, Retry: 50 * time.Millisecond,
		Step: 20 * time.Millisecond, Follow: 200 * time.Millisecond, HandOver: time.Minute, Gone: 10 * time.Minute,
	}
}
