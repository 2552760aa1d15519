package permit

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot counts while the machine sleeps too. The call cannot fail with a clock that exists.
func sinceBoot() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		panic("CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(at.Nano())
}
