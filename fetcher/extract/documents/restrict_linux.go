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

// Restrict takes from the process what a reader of documents does not need. From
// then on it can open nothing, neither files nor connections, write no file, leave no
// core, and take maxMemory bytes beyond what it has; where it needs more, it ends.
// There is no way back.
func Restrict(maxMemory int64) error {
	if err := os.Chdir("/"); err != nil {
		return err
	}
	taken, err := dataBytes()
	if err != nil {
		return err
	}
	// The collector works harder before the end is near.
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	for _, limit := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_DATA, taken + uint64(max(maxMemory, 0))},
		{unix.RLIMIT_NOFILE, 0}, // what is open stays so
	} {
		if err := unix.Setrlimit(limit.what, &unix.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return fmt.Errorf("limit %d of the worker: %w", limit.what, err)
		}
	}
	return nil
}

// dataBytes returns the size of the process's writable private memory, which RLIMIT_DATA
// limits; much of it is reserved only.
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

// executable is this program, even where its file was replaced since it started.
func executable() (string, error) { return "/proc/self/exe", nil }

// attributes keep the signals of a terminal from the worker, and end it with us.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
