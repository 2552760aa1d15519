package partitioned_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/dgraph-io/badger/v4.(*DB).monitorCache"),
		goleak.IgnoreTopFunction("github.com/dgraph-io/ristretto/v2/z.(*AllocatorPool).freeupAllocators"))
}

// closing closes what a store of the suite needs beside its partitions.
type closing struct {
	*partitioned.Store
	values storetest.Store
}

func (c closing) Close() error {
	if err := c.Store.Close(); err != nil {
		return err
	}
	return c.values.Close()
}

// opener opens stores of so many partitions, all of which are here; open opens one of them.
func opener(partitions int, open func(t *testing.T, dir string) scheduler.Partition) storetest.Opener {
	return func(t *testing.T, dir string) storetest.Store {
		t.Helper()
		values := open(t, filepath.Join(dir, "values"))
		s, err := partitioned.New(partitioned.Options{Partitions: partitions, Values: values})
		if err != nil {
			t.Fatal(err)
		}
		for n := range partitions {
			if err := s.Adopt(n, open(t, filepath.Join(dir, fmt.Sprintf("p%02d", n)))); err != nil {
				t.Fatal(err)
			}
		}
		return closing{s, values}
	}
}

// numbers rise, over stores that are opened again, too.
func numbers() func() uint64 {
	var last atomic.Uint64
	return func() uint64 { return last.Add(1) }
}

// memories opens partitions in memory.
func memories() func(t *testing.T, dir string) scheduler.Partition {
	next, dirs := numbers(), map[string]*storetest.Memory{}
	return func(_ *testing.T, dir string) scheduler.Partition {
		if m, ok := dirs[dir]; ok {
			dirs[dir] = m.Reopen()
		} else {
			dirs[dir] = storetest.NewMemory().Numbered(next)
		}
		return dirs[dir]
	}
}

// badgers opens partitions on the disk.
func badgers() func(t *testing.T, dir string) scheduler.Partition {
	next := numbers()
	return func(t *testing.T, dir string) scheduler.Partition {
		t.Helper()
		s, err := badgerstore.Open(dir, badgerstore.Options{Durability: badgerstore.OS, MemtableBytes: badgerstore.MinMemtableBytes, MinFree: -1, NoCompaction: true, Numbers: next})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestConformanceMemory(t *testing.T) {
	for _, n := range []int{1, 3, 24} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			storetest.Run(t, opener(n, memories()))
			if n == 3 {
				storetest.Model(t, opener(n, memories()))
			}
		})
	}
}

// TestConformanceBadger leaves 24 stores on the disk, each opened for each test, to the long form.
func TestConformanceBadger(t *testing.T) {
	partitions := []int{1, 3}
	if seeded.Seed(t) != 1 {
		partitions = append(partitions, 24)
	}
	for _, n := range partitions {
		t.Run(fmt.Sprint(n), func(t *testing.T) { storetest.Run(t, opener(n, badgers())) })
	}
}
