package scheduler_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestBusyKeepsDrainedWaiting: Drained waits for URLs that a caller of Busy adds after the last lease has ended.
func TestBusyKeepsDrainedWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
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

// TestBusyTakesNoMutex: a page that begins or ends while others are on their way does not wait
// for the frontier.
func TestBusyTakesNoMutex(t *testing.T) {
	f := scheduler.New(teststore.New(t), scheduler.Settings{}, slog.New(slog.DiscardHandler))
	defer f.Busy()()
	ended := make(chan struct{})
	f.Locked(func() {
		go func() {
			f.Busy()()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("a page waits for the mutex of the frontier")
		}
	})
	<-ended
}
