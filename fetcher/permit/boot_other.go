//go:build !linux

package permit

import "time"

// started makes time.Since use Go's monotonic clock.
var started = time.Now()

// sinceBoot uses Go's monotonic clock: only Linux has one that counts while the machine sleeps.
func sinceBoot() time.Duration { return time.Since(started) }
