package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/processes"
)

// isolates is set if browsers can run in a separate network.
const isolates = true

// attributes keep a terminal's signals from the browser. isolated puts it into a separate network without any
// connection; for that a user other than root also needs a user namespace.
func attributes(isolated bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: 0}
	if !isolated {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWNET
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return a
}

// killTree kills a process, its group, and all its descendants.
func killTree(pid int) {
	all := processes.Descendants(pid)
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	for _, child := range all {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

// treeMemory returns the private memory of a process and its descendants.
func treeMemory(pid int) (n int64) {
	for _, p := range append(processes.Descendants(pid), pid) {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "status"))
		if err != nil {
			continue // it has ended
		}
		for line := range bytes.Lines(status) {
			name, value, _ := strings.Cut(string(line), ":")
			if name != "RssAnon" && name != "RssShmem" {
				continue
			}
			if kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64); err == nil {
				n += kib << 10
			}
		}
	}
	return n
}

// treeDelays returns the time that the main threads of a process and its descendants, on which their scripts run, have
// waited for a processor: the second number of the kernel's schedstat, in nanoseconds.
func treeDelays(pid int) map[int]time.Duration {
	all := map[int]time.Duration{}
	for _, p := range append(processes.Descendants(pid), pid) {
		stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "schedstat"))
		if fields := bytes.Fields(stat); len(fields) > 1 {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			all[p] = time.Duration(n)
		}
	}
	return all
}
