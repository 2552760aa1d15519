package store

import (
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/histogram"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// timing.mu guards the times of commits: the writer adds them, any caller reads them.

// Stats holds figures of the store. Its JSON is a part of the status.
type Stats struct {
	Commits       uint64 `json:"commits"`        // since it was opened
	Writes        uint64 `json:"writes"`         // of callers, in them
	Keys          uint64 `json:"-"`              // written or removed in them
	WritesWaiting int    `json:"writes_waiting"` // for the next commit
	// LastCommit is the duration of the last commit in the engine, LongestCommit the longest of the last minute or so.
	LastCommit    time.Duration      `json:"-"`
	LongestCommit time.Duration      `json:"-"`
	CommitTimes   histogram.Snapshot `json:"-"` // of all commits
	kv.Stats
	// Fingerprints is the number of URLs that are known without a read, FingerprintBytes the memory for them.
	// FingerprintLoading is set while they are being read.
	Fingerprints       int   `json:"fingerprints"`
	FingerprintBytes   int64 `json:"fingerprint_bytes"`
	FingerprintLoading bool  `json:"fingerprint_loading,omitempty"`
	// Documents entered the index, replaced an older one, and left it, since the store was opened.
	DocumentsAdded   uint64 `json:"documents_added"`
	DocumentsUpdated uint64 `json:"documents_updated"`
	DocumentsDeleted uint64 `json:"documents_deleted"`
}

// Stats measures. It lists the directory.
func (s *Store) Stats() (Stats, error) {
	st := s.timing.stats()
	st.WritesWaiting = len(s.writes)
	count := s.committed.Load()
	st.DocumentsAdded, st.DocumentsUpdated, st.DocumentsDeleted = count.Entered, count.Changed, count.Left
	if set := s.known.set.Load(); set != nil {
		st.Fingerprints, st.FingerprintBytes = set.Len(), set.Bytes()
	} else {
		st.FingerprintLoading = !s.readOnly
	}
	var err error
	if st.Stats, err = s.kv.Stats(); err != nil {
		return st, s.words(err)
	}
	return st, nil
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

// turn drops the figures that are too old.
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
	return Stats{Commits: t.batches, Writes: t.writes, Keys: t.keys, CommitTimes: t.times.Snapshot(), LastCommit: t.last, LongestCommit: max(t.longest[0], t.longest[1])}
}
