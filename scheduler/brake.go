package scheduler

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/tally"
)

// The mutex of IndexBrake guards its count; workers and the owner of the deletions take it.

// sentName is the store's value of the deletions of the whole index that left.
const sentName = "scheduler.brake"

// IndexBrake counts the deletions of the whole index that left, and says how many more may.
// All methods may be called at once.
type IndexBrake struct {
	store Values

	mu   sync.Mutex
	sent tally.Tally
}

// Load reads what the last run left. Call it before Admit.
func (b *IndexBrake) Load(ctx context.Context) error {
	v, err := b.store.Value(ctx, CrawlValue(sentName))
	if err != nil {
		return fmt.Errorf("reading how many deletions there were: %w", err)
	}
	if len(v) == 0 {
		return nil
	}
	r := tally.Reader{Rest: v}
	sent := tally.Read(&r, time.Now())
	if r.Bad || len(r.Rest) > 0 {
		return fmt.Errorf("%s: %w: %w", sentName, ErrDamaged, tally.ErrUnreadable)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = sent
	return nil
}

// Admit counts up to n deletions of an index of so many documents, as many as may leave, and
// returns the note to store with them.
func (b *IndexBrake) Admit(set Brake, documents uint64, n int, now time.Time) (Note, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.sent.Within(now, set.Window, set.Window)
	n = min(n, max(set.most(documents+uint64(left))-left, 0)) //nolint:gosec // a count
	b.sent.Add(now, set.Window, n)
	return Note{Name: CrawlValue(sentName), Value: b.sent.Append(nil)}, n
}

// TakeBack is told that n of those that were admitted did not leave.
func (b *IndexBrake) TakeBack(n int) {
	if n > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sent.TakeBack(n)
	}
}

// Sent is how many deletions left within the brake's window.
func (b *IndexBrake) Sent(set Brake, now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if set.Window <= 0 {
		return 0
	}
	return b.sent.Within(now, set.Window, set.Window)
}

// most is how many of an index's documents may leave within the window: all, if neither
// limit is asked for.
func (b *Brake) most(documents uint64) int {
	if b.Min <= 0 && b.Percent <= 0 {
		return math.MaxInt
	}
	return max(b.Min, int(min(documents, 1<<40))*b.Percent/100) //nolint:gosec // bounded
}
