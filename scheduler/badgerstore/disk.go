package badgerstore

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/scheduler"
)

// collectAfter is how many bytes of bodies are removed until it is looked for value log
// files that are all garbage.
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

func (s *Store) wakeCollector() {
	select {
	case s.collect <- struct{}{}:
	default:
	}
}
