package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestQueueWaits: a host without a caller waits; a pause is not a wait.
func TestQueueWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		f.add(storetest.Link("http://a.test/1", scheduler.Index), storetest.Link("http://a.test/2", scheduler.Index))
		synctest.Wait()
		time.Sleep(10 * time.Second)
		l := f.next()
		waits := f.QueueWaits()
		if w := waits[scheduler.Index]; w.Count != 1 || w.Sum < 10*time.Second || w.Sum > 11*time.Second || waits[scheduler.User].Count != 0 {
			t.Errorf("after ten seconds without a worker: %d, %s", w.Count, w.Sum)
		}
		before := waits[scheduler.Index].Sum
		f.complete(l, ok(l))
		l = f.next() // waits for the pause
		if w := f.QueueWaits()[scheduler.Index]; w.Count < 2 || w.Sum-before > 100*time.Millisecond {
			t.Errorf("a worker that waited for the host's pause: %d, %s", w.Count, w.Sum-before)
		}
		f.complete(l, ok(l))
	})
}
