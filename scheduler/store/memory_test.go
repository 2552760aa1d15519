package store

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "100")
	for _, c := range []struct{ budget, outside, want int64 }{
		{600 << 20, 0, 600 << 20},
		{600 << 20, 300 << 20, 300 << 20},
		{600 << 20, 590 << 20, leastMemory},
	} {
		if got := LimitMemory(c.budget, c.outside); got != c.want || debug.SetMemoryLimit(-1) != c.want {
			t.Errorf("LimitMemory(%d, %d) = %d, set is %d; want %d", c.budget, c.outside, got, debug.SetMemoryLimit(-1), c.want)
		}
	}
	if got := LimitMemory(0, 0); got < leastMemory || got > DefaultMemoryBudget {
		t.Errorf("LimitMemory(0, 0) = %d", got)
	}
	set := debug.SetMemoryLimit(777 << 20)
	t.Setenv("GOMEMLIMIT", "777MiB")
	if got := LimitMemory(1<<30, 0); got != 0 || debug.SetMemoryLimit(-1) != 777<<20 {
		t.Errorf("LimitMemory gives %d and sets %d although the user set a limit (before: %d)", got, debug.SetMemoryLimit(-1), set)
	}
}

// The collector's pace is the operator's if the environment sets it.
func TestLimitMemoryHeedsGOGC(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(123)
	t.Cleanup(func() { debug.SetMemoryLimit(limit); debug.SetGCPercent(percent) })
	for _, c := range []struct {
		env  string
		want int
	}{{"123", 123}, {"", collectAt}} {
		t.Setenv("GOGC", c.env)
		LimitMemory(1<<30, 0)
		if got := debug.SetGCPercent(123); got != c.want {
			t.Errorf("with GOGC=%q the collector runs at %d %%, want %d", c.env, got, c.want)
		}
	}
}

func TestCgroupLimit(t *testing.T) {
	root := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		testdir.Write(t, path, content)
	}
	self := filepath.Join(root, "self")
	sys := filepath.Join(root, "sys")
	if got := cgroupLimit(self, sys); got != math.MaxInt64 {
		t.Errorf("without cgroups: %d", got)
	}
	write("self", "12:memory:/old\n0::/system.slice/sextant.service\n")
	write("sys/system.slice/memory.max", "900\n")
	write("sys/system.slice/sextant.service/memory.max", "max\n")
	write("memory.max", "1\n") // not a cgroup's
	if got := cgroupLimit(self, sys); got != 900 {
		t.Errorf("limit of the slice: %d, want 900", got)
	}
	write("sys/system.slice/sextant.service/memory.max", "400\n")
	if got := cgroupLimit(self, sys); got != 400 {
		t.Errorf("limit of the service: %d, want 400", got)
	}
	write("self", "0::/../../..\n")
	if got := cgroupLimit(self, sys); got != math.MaxInt64 {
		t.Errorf("a group outside: %d", got)
	}
}

// TestStoresShareMemory: what a store keeps beside its memtables is its part of what one alone would.
func TestStoresShareMemory(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{MinFree: -1, Stores: 24})
	if len(s.touched.slots) != touchSlots/24 {
		t.Errorf("%d slots", len(s.touched.slots))
	}
	for i := range uint64(1000) { // of 8 KiB, in one segment
		s.segments.Remember([]segments.Body{{Place: record.BodyPlace{Segment: 1, Offset: i << 13}, Bytes: make([]byte, 8<<10)}})
	}
	kept := 0
	for i := range uint64(1000) {
		kept += len(s.segments.Recent(record.BodyPlace{Segment: 1, Offset: i << 13}))
	}
	if most := segments.RecentBytes / 24; kept > most || kept < most/2 {
		t.Errorf("%d bytes of bodies are kept, want up to %d", kept, most)
	}
}
