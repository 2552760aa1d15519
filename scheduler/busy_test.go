package scheduler_test

import (
	"testing"
	"testing/synctest"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestBusyKeepsDrainedWaiting: URLs that are added after the last lease has ended
// are waited for while somebody is busy.
func TestBusyKeepsDrainedWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, storetest.NewMemory())
		defer f.end()
		synctest.Wait()
		done := f.Busy()
		drained := make(chan error, 1)
		go func() { drained <- f.Drained(t.Context()) }()
		synctest.Wait()
		if len(drained) > 0 {
			t.Fatal("drained while somebody was busy")
		}
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		done()
		done()
		synctest.Wait()
		if len(drained) > 0 {
			t.Fatal("drained with a URL waiting")
		}
		l := f.next()
		f.complete(l, ok(l))
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
	})
}
