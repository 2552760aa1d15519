// Package testproc tells tests what processes take of the machine, as Linux says it.
package testproc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// tick is the unit of /proc/PID/stat.
const tick = 10 * time.Millisecond

// CPU is the time that processes have computed, all together.
func CPU(t testing.TB, pids ...int) (all time.Duration) {
	t.Helper()
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			testneed.Missing(t, "no /proc: %v", err)
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after)
		user, err := strconv.Atoi(fields[11])
		system, err2 := strconv.Atoi(fields[12])
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		all += time.Duration(user+system) * tick
	}
	return all
}

// Memory is what a process has in memory, in bytes: all of it, and what is its own alone, without mapped files.
func Memory(t testing.TB, pid int) (resident, anonymous uint64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		testneed.Missing(t, "no /proc: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			resident = kib << 10
		case name == "RssAnon":
			anonymous = kib << 10
		}
	}
	return resident, anonymous
}
