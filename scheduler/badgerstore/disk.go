package badgerstore

import (
	"errors"
	"fmt"
	"math"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/scheduler"
)

// collectAfter is how many bytes of bodies are removed until Badger is asked to
// look for a value log file worth rewriting.
const collectAfter = 2 * MaxBody

// room says ErrFull if the disk has less free space than it must have.
func (s *Store) room() error { return room(s.dir, s.minFree) }

// room is for the directory of a store, and the free space that it must have.
func room(dir string, minFree int64) error {
	if minFree < 0 {
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("store %s: free space: %w", dir, err)
	}
	free := int64(math.MaxInt64)
	if block := uint64(st.Bsize); st.Bavail < math.MaxInt64/block {
		free = int64(st.Bavail * block)
	}
	if free >= minFree {
		return nil
	}
	return fmt.Errorf("store %s: %w: %d MiB are free, %d are needed: free some space, nothing is lost",
		dir, scheduler.ErrFull, free>>20, minFree>>20)
}

// collectGarbage has a value log file removed that is all garbage. Never one that is
// not: Badger writes values back under their old version, also removed ones that no
// compaction has met yet, and when the removal is compacted away first, they are
// there again (TestCrash found that at a ratio of a half). No value is so short
// that the ratio could hide it. Badger learns of garbage when it compacts: space
// comes back some time after orders were removed.
func (s *Store) collectGarbage() {
	const allOfIt = 0.99999
	s.garbage.Store(0)
	switch err := s.db.RunValueLogGC(allOfIt); {
	case err == nil:
		s.wakeCollector() // there may be another
	case !errors.Is(err, badger.ErrNoRewrite):
		s.log.Warn("value log is not collected", "error", err)
	}
}

func (s *Store) wakeCollector() {
	select {
	case s.collect <- struct{}{}:
	default:
	}
}
