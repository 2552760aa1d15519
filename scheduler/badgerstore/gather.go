package badgerstore

import "time"

// The committer alone uses a gathering.

const (
	// gatherMost is how many pages need no more company, and gatherLeast how many the batch before must have had:
	// where pages come one by one each is stored at once.
	gatherMost  = 256
	gatherLeast = 4
)

// gathering decides whether a batch waits for company: each commit costs syncs, and for pages
// that were handed over nobody waits. A batch that has a write somebody waits for does not.
type gathering struct {
	window time.Duration // Limits.Gather of the engine
	last   int           // pages of the batch before that had pages only
	since  time.Time     // when the first page of this one came; zero: it has no write
	urgent bool          // somebody waits for it
	timer  *time.Timer
}

// joined notes a write of the batch in the making.
func (t *gathering) joined(w *write) {
	if t.since.IsZero() {
		t.since = time.Now()
	}
	t.urgent = t.urgent || w.settled == nil
}

// ended notes that the batch is on its way, or failed.
func (t *gathering) ended(writes int) {
	if !t.urgent && writes > 0 {
		t.last = writes
	}
	t.since, t.urgent = time.Time{}, false
	if t.timer != nil {
		t.timer.Stop()
	}
}

// goesOn reports whether a batch of so many writes waits for more. ripe ends that.
func (t *gathering) goesOn(writes int) bool {
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

// ripe is ready when the batch has waited long enough; nil if it does not wait.
func (t *gathering) ripe() <-chan time.Time {
	if t.timer == nil {
		return nil
	}
	return t.timer.C
}
