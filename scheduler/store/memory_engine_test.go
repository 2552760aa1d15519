package store

import (
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// openInMemory opens stores on engines in memory as if they lay in directories.
func openInMemory() storetest.Opener {
	var dirs sync.Map // tests are parallel
	return func(t *testing.T, dir string) storetest.Store {
		engine, _ := dirs.LoadOrStore(dir, &memkv.Engine{})
		s, err := On(engine.(*memkv.Engine), dir, Options{Logger: discard(), saveAfter: 50, segmentBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return verified{s, t}
	}
}

// TestVerifyBeforeFirstCommit: a store whose maker died before its first commit has no fault.
func TestVerifyBeforeFirstCommit(t *testing.T) {
	s, err := On(&memkv.Engine{}, "in memory", Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if faults := faultsOf(t, s); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestConformanceInMemory: the store needs no more of an engine than its contract.
func TestConformanceInMemory(t *testing.T) { storetest.Run(t, openInMemory()) }

func TestModelInMemory(t *testing.T) { storetest.Model(t, openInMemory()) }
