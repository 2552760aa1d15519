//go:build !linux

package render

import (
	"os"
	"syscall"
	"time"
)

// isolates is set if browsers can run in a separate network.
const isolates = false

func attributes(bool) *syscall.SysProcAttr { return nil }

// killTree kills a browser; its processes end with it, since their pipes do.
func killTree(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// treeMemory returns 0: the memory is unknown on this system.
func treeMemory(int) int64 { return 0 }

// treeDelays returns nothing: this system does not report delays.
func treeDelays(int) map[int]time.Duration { return nil }
