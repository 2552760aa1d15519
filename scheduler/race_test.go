package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// lateReader runs a hook after a queue was read, before the reader knows.
type lateReader struct {
	scheduler.Store
	hook func()
}

func (r *lateReader) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	urls, err := r.Store.Queue(ctx, p, after, n)
	if hook := r.hook; hook != nil {
		r.hook = nil
		hook()
	}
	return urls, err
}

// TestNewsDuringRead: work that arrives while its queue is being read is not
// taken for read.
func TestNewsDuringRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lateReader{Store: teststore.New(t)}
		f := run(t, store)
		defer f.end()
		store.hook = func() { f.add(storetest.Link("http://a.test/2", scheduler.Index)) }
		f.add(storetest.Link("http://a.test/1", scheduler.Index))
		for _, want := range []string{"http://a.test/1", "http://a.test/2"} {
			l := f.next()
			if l.URL.String() != want {
				t.Errorf("%v came, want %s", l.URL, want)
			}
			f.complete(l, ok(l))
		}
	})
}

// TestDelayAfterRequest: a Crawl-delay that becomes known after the request (for
// robots.txt) that brought it counts from the end of that request.
func TestDelayAfterRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		l := f.next()
		f.GiveBack(l, true, time.Time{})
		time.Sleep(time.Second)
		f.Delay(l.Place.Host, time.Minute)
		begin := time.Now()
		f.next()
		if d := time.Since(begin); d != 59*time.Second {
			t.Errorf("the next request came after %v more, want 59s", d)
		}
	})
}

// TestSlowCommitHidesNoGate: a commit that ends after a later request must not
// pass off that one's gate as stored.
func TestSlowCommitHidesNoGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := teststore.New(t)
		store := &storetest.Faulty{Store: memory}
		store.Before = func(_ context.Context, method string) error {
			if method == "Complete" {
				time.Sleep(10 * time.Second)
			}
			return nil
		}
		f := run(t, store)
		f.add(storetest.Links(2, "http://a.test/%d", scheduler.Index)...)
		first, done := f.next(), make(chan error)
		go func() { done <- f.Complete(t.Context(), first, ok(first)) }()
		second := f.next()
		time.Sleep(7 * time.Second)
		f.GiveBack(second, true, time.Now().Add(time.Minute))
		begin := time.Now()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		f.end()
		if err := memory.Close(); err != nil {
			t.Fatal(err)
		}
		f = run(t, memory.Reopen())
		defer f.end()
		f.next()
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("the next visit came %v after the host was closed for a minute", d)
		}
	})
}

// TestSignalIsPassedOn: a worker that is woken and cancelled at the same moment
// does not keep the signal from the others.
func TestSignalIsPassedOn(t *testing.T) {
	for range 50 { // select chooses at random
		synctest.Test(t, func(t *testing.T) {
			f := run(t, teststore.New(t))
			defer f.end()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			got := make(chan *scheduler.Lease, 2)
			go func() {
				l, err := f.Next(ctx)
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				got <- l
			}()
			synctest.Wait()
			go func() { got <- f.next() }()
			synctest.Wait()
			time.Sleep(time.Second) // the first one's context ends with this
			f.add(storetest.Link("http://a.test/", scheduler.Index))
			l := <-got
			if l == nil {
				l = <-got
			}
			f.complete(l, ok(l))
			f.add(storetest.Link("http://b.test/", scheduler.Index)) // whoever still waits
			synctest.Wait()
		})
	}
}
