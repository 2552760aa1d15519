package store

import "time"

// Only the committer uses a gathering.

const (
	// gatherMost is the number of pages at which a batch stops waiting for more, gatherLeast the number that the batch
	// before must have had: pages that come one by one are stored at once.
	gatherMost  = 256
	gatherLeast = 4
)

// gathering decides whether a batch waits for more writes: each commit costs syncs, and no caller waits for pages that
// were handed over. A batch with a write that a caller waits for is not delayed.
type gathering struct {
	window time.Duration // how long a batch of pages waits for more: Limits.Gather of the engine
	last   int           // pages of the last batch that held only pages
	since  time.Time     // when its first page came; zero: it has no write
	urgent bool          // a caller waits for it
	timer  *time.Timer
}

// added records a write of the batch in the making.
func (t *gathering) added(w *write) {
	if t.since.IsZero() {
		t.since = time.Now()
	}
	t.urgent = t.urgent || w.settled == nil
}

// ended records that the batch was passed on, or failed.
func (t *gathering) ended(writes int) {
	if !t.urgent && writes > 0 {
		t.last = writes
	}
	t.since, t.urgent = time.Time{}, false
	if t.timer != nil {
		t.timer.Stop()
	}
}

// waits reports whether a batch of so many writes waits for more. The wait ends at expired.
func (t *gathering) waits(writes int) bool {
	if t.urgent || t.last < gatherLeast || writes >= gatherMost {
		return false
	}
	left := t.window - time.Since(t.since)
	if left <= 0 {
		return false
	}
	if t.timer == nil {
		t.timer = time.NewTimer(left)
	} else {
		t.timer.Reset(left)
	}
	return true
}

// expired returns a channel that is ready when the batch has waited long enough, or nil if it is not waiting.
func (t *gathering) expired() <-chan time.Time {
	if t.timer == nil {
		return nil
	}
	return t.timer.C
}
