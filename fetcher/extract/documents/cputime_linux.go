package documents

import (
	"time"

	"golang.org/x/sys/unix"
)

// ownCPUTime returns the CPU time that this process has used.
func ownCPUTime() (time.Duration, bool) { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// cpuTimeOf returns the CPU time that another process has used. The number of its clock is that of
// clock_getcpuclockid(3): ~pid << 3, with 2 for the scheduler's measure.
func cpuTimeOf(pid int) (time.Duration, bool) { return clock(^int32(pid)<<3 | 2) } //nolint:gosec // a pid fits

func clock(id int32) (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
