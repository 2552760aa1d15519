package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// isolates says that browsers may have a network of their own.
const isolates = true

// attributes keep the signals of a terminal from the browser. Isolated gives it a network of its own,
// which leads nowhere; for that a user who is not root needs a user namespace, too.
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

// killTree kills a process, its group, and all that descends from it.
func killTree(pid int) {
	all := descendants(pid)
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	for _, child := range all {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

// treeMemory is what a process and its descendants have for themselves.
func treeMemory(pid int) (n int64) {
	for _, p := range append(descendants(pid), pid) {
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

// descendants are the processes that a process has started, and those have.
func descendants(of int) (all []int) {
	children := map[int][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		// The name, in brackets, may hold anything: its end is the last one.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	for next := children[of]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, children[next[0]]...)
	}
	return all
}
