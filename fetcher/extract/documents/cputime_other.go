//go:build !linux

package documents

import "time"

// ownCPUTime and cpuTimeOf measure on Linux only.
func ownCPUTime() (time.Duration, bool) { return 0, false }

func cpuTimeOf(int) (time.Duration, bool) { return 0, false }
