//go:build !linux

package cluster

import "time"

// started makes time.Since use Go's monotonic clock.
var started = time.Now()

// sinceBoot is Go's monotonic clock: a node on a machine that sleeps is safe on Linux alone.
func sinceBoot() time.Duration { return time.Since(started) }
