package store

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// DefaultMemoryBudget is the default for LimitMemory, in bytes.
const DefaultMemoryBudget = 1 << 30

// leastMemory is the least that LimitMemory leaves to Go: with less, the garbage collector would run constantly.
const leastMemory = 96 << 20

// collectAt is the percentage of live heap by which the heap grows before Go collects. A third to two thirds of the
// live heap are Badger's tables under construction, which hold no pointers, so a collection is cheap compared with what
// it frees.
const collectAt = 60

// LimitMemory makes Go collect somewhat earlier than by default, unless the environment sets GOGC. It sets Go's memory
// limit so that the process stays within budget bytes (0: DefaultMemoryBudget, or three quarters of what the process's
// cgroup allows if that is less). outside is memory unknown to Go (Stats.FingerprintBytes of all stores); call
// LimitMemory again when it has grown. It returns the limit that it set, or 0 if it set none because the environment
// sets GOMEMLIMIT. Mapped files do not count.
func LimitMemory(budget, outside int64) int64 {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	limit := max(MemoryBudget(budget)-outside, leastMemory)
	debug.SetMemoryLimit(limit)
	return limit
}

// MemoryBudget returns the budget of LimitMemory: the given one, or the default for 0.
func MemoryBudget(budget int64) int64 {
	if budget > 0 {
		return budget
	}
	return min(DefaultMemoryBudget, cgroupLimit("/proc/self/cgroup", "/sys/fs/cgroup")/4*3)
}

// cgroupLimit returns the lowest memory.max and memory.high of the process's cgroup (version 2) and those above it,
// MaxInt64 if there is none.
func cgroupLimit(self, root string) int64 {
	least := int64(math.MaxInt64)
	b, err := os.ReadFile(self)
	if err != nil {
		return least
	}
	_, group, ok := strings.Cut(string(b), "0::")
	if !ok {
		return least
	}
	group, _, _ = strings.Cut(group, "\n")
	for dir := filepath.Join(root, filepath.Clean("/"+group)); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		for _, name := range []string{"memory.max", "memory.high"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil { // else it is "max"
				least = min(least, n)
			}
		}
	}
	return least
}
