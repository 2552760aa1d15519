package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestReady waits for a URL without taking it.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		synctest.Wait()
		if l, err := f.TryNext(t.Context()); l != nil || err != nil {
			t.Errorf("an empty frontier gives %v %v", l, err)
		}
		ready := make(chan error, 2)
		for range 2 {
			go func() { ready <- f.Ready(t.Context()) }()
		}
		synctest.Wait()
		f.add(storetest.Links(1, "http://h%d.test/", scheduler.Index)...)
		synctest.Wait()
		// One is woken, who would wake the next by taking a URL. It passes on instead.
		if len(ready) != 1 {
			t.Fatalf("%d are woken", len(ready))
		}
		f.PassOn()
		synctest.Wait()
		if err := errors.Join(<-ready, <-ready); err != nil {
			t.Fatal(err)
		}
		l, err := f.TryNext(t.Context())
		if l == nil || err != nil {
			t.Fatalf("no URL: %v", err)
		}
		if other, err := f.TryNext(t.Context()); other != nil || err != nil {
			t.Errorf("the same URL twice: %v %v", other, err)
		}
		f.complete(l, ok(l))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Ready(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that ended: %v", err)
		}
		f.Stop()
		if err := f.Ready(t.Context()); !errors.Is(err, scheduler.ErrStopped) {
			t.Errorf("stopped: %v", err)
		}
		if _, err := f.TryNext(t.Context()); !errors.Is(err, scheduler.ErrStopped) {
			t.Errorf("stopped: %v", err)
		}
	})
}
