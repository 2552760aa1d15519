package badgerstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
	"github.com/sextant-crawler/sextant/scheduler/histogram"
)

// timing.mu guards the times of commits: the writer adds them, any caller reads them.

// Stats tell how the store is doing.
type Stats struct {
	Batches uint64 // commits since it was opened
	Writes  uint64 // of callers, in them
	Keys    uint64 // written or removed, in them
	Waiting int    // writes that wait for the committer now
	// LastCommit and LongestCommit are how long Badger took for the last commit and
	// for the longest of the last minute or so.
	LastCommit, LongestCommit time.Duration
	CommitTimes               histogram.Snapshot // of all of them
	// DiskFree and DiskSize are those of the disk that the store lies on, in bytes;
	// MinFree must stay free, or nothing is written. 0: not known, or no bound.
	DiskFree, DiskSize, MinFree int64
	// TableBytes, LogBytes, ValueBytes and BodyBytes are the disk space of tables, memtable
	// logs, the value log and the outbox's segments.
	TableBytes, LogBytes, ValueBytes, BodyBytes int64
	// Fingerprints is how many URLs are known without a read, FingerprintBytes the
	// memory that this takes. Loading says that they are still being read.
	Fingerprints     int
	FingerprintBytes int64
	Loading          bool
	// Entered, Changed and Left count documents that came into the index, were pushed in
	// place of an older one, and left it, since the store was opened.
	Entered, Changed, Left uint64
}

// Stats measures. It lists the directory.
func (s *Store) Stats() (Stats, error) {
	st := s.timing.stats()
	st.Waiting = len(s.writes)
	st.MinFree = max(s.needs(), 0)
	count := s.committed.Load()
	st.Entered, st.Changed, st.Left = count.Entered, count.Changed, count.Left
	if free, size, err := s.space(s.dir); err == nil {
		st.DiskFree, st.DiskSize = free, size
	}
	if set := s.known.set.Load(); set != nil {
		st.Fingerprints, st.FingerprintBytes = set.Len(), set.Bytes()
	} else {
		st.Loading = !s.readOnly
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return st, s.words(err)
	}
	for _, f := range files {
		sum := map[string]*int64{".sst": &st.TableBytes, ".mem": &st.LogBytes, ".vlog": &st.ValueBytes, segments.Ext: &st.BodyBytes}[filepath.Ext(f.Name())]
		if sum == nil {
			continue
		}
		if info, err := f.Info(); err == nil {
			*sum += allocated(info)
		} // else it was removed meanwhile
	}
	return st, nil
}

// allocated is the disk space of a file: Badger makes large ones that are mostly holes.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// timing measures commits.
type timing struct {
	mu              sync.Mutex
	batches, writes uint64
	keys            uint64
	last            time.Duration
	times           histogram.Histogram
	longest         [2]time.Duration // of this half minute and the one before
	begun           time.Time        // of this half minute
}

const timingWindow = 30 * time.Second

func (t *timing) add(d time.Duration, writes int, keys int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn()
	t.batches++
	t.writes += uint64(writes)
	t.keys += uint64(keys)
	t.last = d
	t.times.Observe(d)
	t.longest[0] = max(t.longest[0], d)
}

// turn forgets what is too long ago.
func (t *timing) turn() {
	switch now := time.Now(); {
	case now.Sub(t.begun) >= 2*timingWindow:
		t.longest, t.begun = [2]time.Duration{}, now
	case now.Sub(t.begun) >= timingWindow:
		t.longest, t.begun = [2]time.Duration{0, t.longest[0]}, now
	}
}

func (t *timing) stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn()
	return Stats{Batches: t.batches, Writes: t.writes, Keys: t.keys, CommitTimes: t.times.Snapshot(), LastCommit: t.last, LongestCommit: max(t.longest[0], t.longest[1])}
}
