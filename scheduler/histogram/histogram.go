// Package histogram counts durations for metrics, where they are measured: without
// a lock, an allocation, or a library.
package histogram

import (
	"sync/atomic"
	"time"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// bounds are the inclusive upper bounds of all buckets except the last.
var bounds = [...]time.Duration{
	ms / 10, ms / 4, ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
	s, 5 * s / 2, 5 * s, 10 * s, 30 * s, 60 * s, 300 * s,
}

// Histogram counts durations from a tenth of a millisecond to five minutes. The zero value is ready to use. Its methods
// may be called concurrently.
type Histogram struct {
	counts [len(bounds) + 1]atomic.Uint64
	sum    atomic.Int64
}

// Observe counts a duration. It counts a negative one, caused by a clock that was set back, as 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Snapshot holds the counts of a Histogram.
type Snapshot struct {
	Count uint64
	Sum   time.Duration
	// Buckets hold the cumulative counts of durations up to each bound.
	Buckets [len(bounds)]uint64
}

// Snapshot returns the counts so far. During concurrent calls of Observe, Sum may include a few more or fewer durations
// than the counts.
func (h *Histogram) Snapshot() Snapshot {
	var out Snapshot
	for i := range h.counts {
		out.Count += h.counts[i].Load()
		if i < len(out.Buckets) {
			out.Buckets[i] = out.Count
		}
	}
	out.Sum = time.Duration(h.sum.Load())
	return out
}

// Add adds the counts of another histogram.
func (s *Snapshot) Add(other Snapshot) {
	s.Count += other.Count
	s.Sum += other.Sum
	for i, n := range other.Buckets {
		s.Buckets[i] += n
	}
}

// Seconds returns the buckets by their bounds in seconds.
func (s *Snapshot) Seconds() map[float64]uint64 {
	out := make(map[float64]uint64, len(bounds))
	for i, b := range bounds {
		out[b.Seconds()] = s.Buckets[i]
	}
	return out
}
