package permit

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot also counts while the machine sleeps. The call cannot fail for an existing clock.
func sinceBoot() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		panic("CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(at.Nano())
}
