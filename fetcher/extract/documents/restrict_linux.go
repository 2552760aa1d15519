package documents

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Restrict removes the rights that a reader of documents does not need, irreversibly. The process can then open neither
// files nor connections, write no file, leave no core dump, and allocate at most maxMemory bytes more; if it needs
// more, it ends.
func Restrict(maxMemory int64) error {
	if err := os.Chdir("/"); err != nil {
		return err
	}
	taken, err := dataBytes()
	if err != nil {
		return err
	}
	// The collector works harder near the limit.
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	for _, limit := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_DATA, taken + uint64(max(maxMemory, 0))},
		{unix.RLIMIT_NOFILE, 0}, // open files stay open
	} {
		if err := unix.Setrlimit(limit.what, &unix.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return fmt.Errorf("limit %d of the worker: %w", limit.what, err)
		}
	}
	return nil
}

// dataBytes returns the size of the process's writable private memory, which RLIMIT_DATA limits; much of it is only
// reserved.
func dataBytes() (uint64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(statm)
	if len(fields) < 6 {
		return 0, fmt.Errorf("/proc/self/statm has %d fields instead of 7", len(fields))
	}
	pages, err := strconv.ParseUint(string(fields[5]), 10, 64)
	return pages * uint64(os.Getpagesize()), err //nolint:gosec // a page has a size above 0
}

// executable returns this program, even if its file was replaced since it started.
func executable() (string, error) { return "/proc/self/exe", nil }

// attributes returns process attributes that shield the worker from a terminal's signals and kill it with this process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
