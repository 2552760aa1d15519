package storetest_test

import (
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// memories opens Memory stores as if they lay in directories.
func memories() storetest.Opener {
	dirs := map[string]*storetest.Memory{}
	return func(_ *testing.T, dir string) storetest.Store {
		if m, ok := dirs[dir]; ok {
			dirs[dir] = m.Reopen()
		} else {
			dirs[dir] = storetest.NewMemory()
		}
		return dirs[dir]
	}
}

func TestMemory(t *testing.T) { storetest.Run(t, memories()) }

func TestMemoryModel(t *testing.T) { storetest.Model(t, memories()) }

func TestUncleanEnd(t *testing.T) {
	m := storetest.NewMemory()
	if !m.ClosedCleanly() {
		t.Error("a new store was not closed cleanly")
	}
	if m.Reopen().ClosedCleanly() {
		t.Error("a store that was never closed says that it was")
	}
}
