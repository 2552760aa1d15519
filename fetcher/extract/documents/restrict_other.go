//go:build !linux

package documents

import (
	"os"
	"runtime/debug"
	"syscall"
)

// Restrict makes the collector work harder when the process approaches maxMemory bytes. Strict limits are set only on
// Linux.
func Restrict(maxMemory int64) error {
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	return os.Chdir("/")
}

func executable() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return nil }
