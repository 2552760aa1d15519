package shared_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/shared"
)

// TestStartOnce: of an hourly schedule each hour begins once, at a time that all nodes have in common, whatever lines lose, repeat and delay, while
// partitions pass from node to node; and each partition does its part once for each.
func TestStartOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := clustertest.NewMemory()
		var mu sync.Mutex
		begun := map[time.Time]int{} // how many partitions did their part
		const partitions, hours = 4, 30
		var parts [partitions]struct {
			owner int
			done  time.Time // as its store has it
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for node := range 3 {
			line := clustertest.NewLine(e, uint64(node))
			line.Set(clustertest.Faults{Delay: 700 * time.Millisecond, Lost: 0.3, Late: 0.2, Repeat: 0.3, Busy: 0.1})
			ahead := time.Duration(node) * 10 * time.Second // clocks of day differ
			all.Go(func() {
				for ctx.Err() == nil {
					at, err := shared.Start(ctx, line, "@hourly", func(last time.Time) (time.Time, bool) {
						now := time.Now().Add(ahead)
						return now, last.IsZero() || !last.Truncate(time.Hour).Add(time.Hour).After(now)
					})
					mu.Lock()
					for i := range parts {
						if p := &parts[i]; err == nil && p.owner == node && p.done.Before(at) {
							p.done = at
							begun[at]++
						}
					}
					mu.Unlock()
					select {
					case <-ctx.Done():
					case <-time.After(7 * time.Second):
					}
				}
			})
		}
		for n := range hours*60 - 30 { // not to the edge of an hour
			time.Sleep(time.Minute)
			mu.Lock()
			parts[n%partitions].owner = n % 3
			mu.Unlock()
		}
		cancel()
		all.Wait()
		hoursSeen := map[time.Time]int{}
		for at, n := range begun {
			if hoursSeen[at.Truncate(time.Hour)]++; n != partitions {
				t.Errorf("of %v %d partitions did their part, want %d", at, n, partitions)
			}
		}
		for hour, n := range hoursSeen {
			if n != 1 {
				t.Errorf("the run of %v began %d times", hour, n)
			}
		}
		if n := len(hoursSeen); n != hours {
			t.Errorf("%d runs in %d hours", n, hours)
		}
		time.Sleep(2 * time.Minute) // what comes late has come
	})
}
