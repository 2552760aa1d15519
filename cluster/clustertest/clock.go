package clustertest

import (
	"context"
	"time"
)

// Clock is a node's clock in a test's bubble: it shows another time than the others, and may run
// faster or slower.
type Clock struct {
	Rate  float64       // 1: as fast as the bubble's
	Ahead time.Duration // of the wall clock
	start time.Time
}

// NewClock starts a clock at rate.
func NewClock(rate float64) *Clock { return &Clock{Rate: rate, start: time.Now()} }

// Now is what the clock shows.
func (c *Clock) Now() time.Duration {
	return time.Hour + time.Duration(float64(time.Since(c.start))*c.Rate)
}

// Sleep waits for d by this clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		sleep(ctx, time.Duration(float64(d)/c.Rate)+1)
	}
	return ctx.Err()
}

// Wall is the bubble's time of day, and Ahead.
func (c *Clock) Wall() time.Time { return time.Now().Add(c.Ahead) }
