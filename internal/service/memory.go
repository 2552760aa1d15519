package service

import (
	"context"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/store"
)

// NoMemoryLimit is the budget of a process without a limit.
const NoMemoryLimit = -1

// ParseSize reads a size above 0 as GOMEMLIMIT has it.
func ParseSize(s string) (int64, bool) {
	shift := 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			s, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "B"), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}

const (
	// memoryStep is the interval at which memory outside Go's heap is measured, and memoryGrain the smallest change that
	// matters.
	memoryStep  = time.Minute
	memoryGrain = 8 << 20
)

// limitMemory keeps the garbage collector's limit at the budget minus the stores' memory outside Go's heap, until ctx
// ends.
func (s *Service) limitMemory(ctx context.Context) error {
	if s.options.Memory == NoMemoryLimit {
		s.log.Info("no memory limit")
		return nil
	}
	if limit := os.Getenv("GOMEMLIMIT"); limit != "" {
		s.log.Info("memory limit", "of", "GOMEMLIMIT", "limit", limit)
		return nil
	}
	last := int64(-memoryGrain)
	for more := true; more; more = sleep(ctx, memoryStep) {
		outside := int64(0)
		for _, r := range s.crawls {
			stats, err := r.store.Stats()
			if err != nil { // of the files' sizes, which do not matter here
				s.log.Warn("memory limit", "error", err)
			}
			outside += stats.FingerprintBytes
		}
		if outside >= last+memoryGrain || outside <= last-memoryGrain {
			limit := store.LimitMemory(s.options.Memory, outside)
			s.log.Debug("heap limit", "bytes", limit, "known_urls_bytes", outside)
			last = outside
		}
	}
	return nil
}

// How large the memtables of the stores may be together: a part of the budget, since a
// store has up to five and a third of one size in memory.
const (
	memtablePart    = 16
	memtables       = 16.0 / 3
	leastMemtable   = 2 << 20
	memtableRounded = 1 << 20
)

// memtableOf divides the budget (as in service.memory) over the stores of n Crawlers:
// memtables are the only memory of a store whose size is a choice. The known URLs in
// memory cannot be fewer, and pages of tables are the kernel's.
func memtableOf(budget int64, n int) int64 {
	if limit, ok := ParseSize(os.Getenv("GOMEMLIMIT")); ok {
		budget = limit
	}
	if budget == NoMemoryLimit || n <= 1 {
		return store.DefaultMemtableBytes
	}
	size := int64(float64(store.MemoryBudget(budget)) / memtablePart / memtables / float64(n))
	size -= size % memtableRounded
	return min(max(size, leastMemtable), store.DefaultMemtableBytes)
}
