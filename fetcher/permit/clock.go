package permit

import (
	"context"
	"time"
)

// Clock is a process's own clock. Only durations matter: readings of two clocks are never compared.
type Clock interface {
	// Now returns a reading that never goes back and also counts while the machine sleeps.
	Now() time.Duration
	// Sleep waits for d by this clock, or until ctx ends, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock: CLOCK_BOOTTIME on Linux, since Go's monotonic clock stands still while a
// machine sleeps.
type SystemClock struct{}

// Now returns the time since the machine started.
func (SystemClock) Now() time.Duration { return sinceBoot() }

// Sleep waits. It does not wake while the machine sleeps: call Now again before acting.
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
