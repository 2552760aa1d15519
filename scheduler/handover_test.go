package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// heldStore keeps outcomes back.
type heldStore struct {
	scheduler.Store
	*storetest.Held
}

func (h heldStore) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	return h.Held.Complete(ctx, c, settled)
}

// TestPauseCountsFromTheRequest: the next request to a host comes a pause after the end of the
// last one, however long that one's outcome is on its way into the store; until it is there
// the URL is in flight, and the crawl is not drained.
func TestPauseCountsFromTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := teststore.New(t)
		held := storetest.Hold(memory, 0)
		f := run(t, heldStore{memory, held})
		f.add(storetest.Links(3, "http://a.test/%d", scheduler.Index)...)
		settled := make(chan error, 3)
		last := time.Time{}
		for i := range 3 {
			l := f.next()
			if d := time.Since(last); i > 0 && d != throttle {
				t.Errorf("request %d came %v after the last one, want %v", i, d, throttle)
			}
			f.HandOver(t.Context(), l, ok(l), func(err error) { settled <- err })
			last = time.Now()
		}
		f.none(time.Hour)
		drained := make(chan error, 1)
		go func() { drained <- f.Drained(t.Context()) }()
		synctest.Wait()
		if held.Len() != 3 || len(settled) != 0 || len(drained) != 0 {
			t.Errorf("%d outcomes are on their way, %d settled, drained %d times; want 3, 0, 0", held.Len(), len(settled), len(drained))
		}
		if s := f.Snapshot(); s.InFlight != 3 {
			t.Errorf("%d are in flight, want 3", s.InFlight)
		}
		held.Release()
		for range 3 {
			if err := <-settled; err != nil {
				t.Error(err)
			}
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		f.end()
	})
}

// TestHandOverOnce: a lease that was handed over has ended.
func TestHandOverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := teststore.New(t)
		held := storetest.Hold(memory, 0)
		f := run(t, heldStore{memory, held})
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		l := f.next()
		settled := make(chan error, 2)
		for range 2 {
			f.HandOver(t.Context(), l, ok(l), func(err error) { settled <- err })
		}
		if err := <-settled; err == nil {
			t.Error("a lease is handed over twice")
		}
		f.GiveBack(l, false, time.Time{})
		held.Release()
		if err := <-settled; err != nil {
			t.Error(err)
		}
		f.none(time.Hour)
	})
}
