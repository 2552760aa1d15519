//go:build !linux

package render

import (
	"os"
	"syscall"
)

// isolates is set if browsers can have a network of their own.
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
