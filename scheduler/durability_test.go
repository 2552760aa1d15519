package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

var errDisk = errors.New("the disk is on fire")

// slowly returns a store that needs up to a tenth of a second for each call.
func slowly(r *rand.Rand) func(context.Context, string) error {
	return func(context.Context, string) error {
		time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
		return nil
	}
}

// TestGatesSurvive: after a restart no host is visited before it may be, whatever
// closed its gate and however the process ended.
func TestGatesSurvive(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(f *running, l *scheduler.Lease)
		crash bool
		want  time.Duration
	}{
		{"completed", func(f *running, l *scheduler.Lease) { f.complete(l, ok(l)) }, false, throttle},
		{"given back after a request", func(f *running, l *scheduler.Lease) { f.GiveBack(l, true, time.Time{}) }, false, throttle},
		{"given back without one", func(f *running, l *scheduler.Lease) { f.GiveBack(l, false, time.Time{}) }, false, 0},
		{"closed for an hour", func(f *running, l *scheduler.Lease) { f.GiveBack(l, false, time.Now().Add(time.Hour)) }, false, time.Hour},
		{"retry after", func(f *running, l *scheduler.Lease) {
			f.complete(l, scheduler.Result{Status: 503, HasRetryAfter: true, RetryAfter: time.Hour})
		}, false, time.Hour},
		{"crawl delay", func(f *running, l *scheduler.Lease) {
			f.Delay(l.Place.Host, time.Minute)
			f.complete(l, ok(l))
		}, false, time.Minute},
		{"crash in a request", func(*running, *scheduler.Lease) {}, true, throttle},
		{"crash after retry after", func(f *running, l *scheduler.Lease) {
			f.complete(l, scheduler.Result{Status: 429, HasRetryAfter: true, RetryAfter: time.Hour})
		}, true, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := storetest.NewMemory()
			f := run(t, store)
			f.add(storetest.Links(2, "http://a.test/%d", scheduler.Index)...)
			c.end(f, f.next())
			f.end()
			if !c.crash {
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
			begin := time.Now()
			f = run(t, store.Reopen())
			defer f.end()
			f.next()
			if d := time.Since(begin); d != c.want {
				t.Errorf("%s: the next visit came after %v, want %v", c.name, d, c.want)
			}
		})
	}
}

// TestNothingBeforeRun: what is added before Run has loaded the gates waits for them.
func TestNothingBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory().Reopen()
		f := &running{Frontier: scheduler.New(store, scheduler.DefaultSettings(), slog.New(slog.DiscardHandler)), t: t}
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		f.none(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		begin := time.Now()
		l := f.next()
		if d := time.Since(begin); d != throttle {
			t.Errorf("the first visit after an unclean end came after %v, want %v", d, throttle)
		}
		f.complete(l, ok(l))
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestStoreFails: neither an error before the store did anything nor one after it
// did all may lose a URL, fetch one again that is done, or forget new work.
func TestStoreFails(t *testing.T) {
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			memory := storetest.NewMemory()
			store, fails := &storetest.Faulty{Store: memory}, 1
			hook := func(_ context.Context, method string) error {
				if method == "Complete" && fails > 0 {
					fails--
					return errDisk
				}
				return nil
			}
			if after {
				store.After = hook
			} else {
				store.Before = hook
			}
			f := run(t, store)
			defer f.end()
			f.add(storetest.Link("http://a.test/", scheduler.Index))
			l, begin := f.next(), time.Now()
			r := ok(l)
			r.Links = []scheduler.Link{storetest.Link("http://b.test/", scheduler.Index)}
			if err := f.Complete(t.Context(), l, r); !errors.Is(err, errDisk) {
				t.Errorf("Complete = %v, want the store's error", err)
			}
			if after {
				if l := f.next(); l.URL.String() != "http://b.test/" {
					t.Errorf("%v came, want the link of the page that was stored", l.URL)
				} else {
					f.complete(l, ok(l))
				}
			} else {
				if l = f.next(); l.URL.String() != "http://a.test/" || time.Since(begin) < time.Second {
					t.Errorf("%v came after %v, want the page again after a pause", l.URL, time.Since(begin))
				}
				f.complete(l, r)
				l = f.next()
				f.complete(l, ok(l))
			}
			if err := f.Drained(t.Context()); err != nil {
				t.Error(err)
			}
			f.none(time.Hour)
		})
	}
}

// TestCrawlWithFailures crawls a random site while a tenth of all calls of the
// store fail, before or after the fact. Each page must be stored exactly once.
func TestCrawlWithFailures(t *testing.T) {
	for _, aggressive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { crawlWithFailures(t, aggressive) })
	}
}

func crawlWithFailures(t *testing.T, aggressive bool) {
	const pages = 600
	memory := storetest.NewMemory()
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(1, 2))
	chance := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return rnd.IntN(n) == 0
	}
	fail := func(_ context.Context, method string) error {
		if method != "Value" && method != "SetValue" && method != "Places" && method != "Add" && chance(20) {
			return errDisk
		}
		return nil
	}
	f := run(t, &storetest.Faulty{Store: memory, Before: fail, After: fail}, func(s *scheduler.Settings) { s.Aggressive = aggressive })
	defer f.end()
	page := func(i int) scheduler.Link {
		return storetest.Link(fmt.Sprintf("http://h%d.test/%d", i%20, i), scheduler.Source(1+i%4))
	}
	f.add(page(0))
	flying, stored := map[weburl.Key]bool{}, map[weburl.Key]int{}
	f.work(20, func(l *scheduler.Lease) {
		mu.Lock()
		if flying[l.Key] {
			t.Errorf("%v is fetched twice at once", l.URL)
		}
		flying[l.Key] = true
		mu.Unlock()
		time.Sleep(time.Second)
		r := ok(l)
		var i int
		if _, err := fmt.Sscanf(l.URL.Path(), "/%d", &i); err != nil {
			t.Error(err)
		}
		for _, next := range []int{2*i + 1, 2*i + 2, i / 2} {
			if next < pages {
				r.Links = append(r.Links, page(next))
			}
		}
		mu.Lock()
		delete(flying, l.Key)
		mu.Unlock()
		if err := f.Complete(t.Context(), l, r); err == nil {
			mu.Lock()
			stored[l.Key]++
			mu.Unlock()
		}
	})
	c, err := memory.Counts(t.Context())
	if err != nil || c.Known != pages || c.ByClass[scheduler.OK] != pages {
		t.Errorf("Counts = %+v, %v; want %d pages fetched", c, err, pages)
	}
	for k, n := range stored {
		if n > 1 {
			t.Errorf("%v was completed %d times", k, n)
		}
	}
}

// TestDrained ends at the very moment of the last completion and does not wait
// for what lies in the future.
func TestDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, storetest.NewMemory())
		defer f.end()
		if err := f.Drained(t.Context()); err != nil { // of an empty store
			t.Fatal(err)
		}
		f.add(storetest.Links(3, "http://a.test/%d", scheduler.Index)...)
		begin, done := time.Now(), make(chan time.Duration)
		go func() {
			if err := f.Drained(t.Context()); err != nil {
				t.Error(err)
			}
			done <- time.Since(begin)
		}()
		for i := range 3 {
			l := f.next()
			time.Sleep(time.Second)
			r := ok(l)
			if i == 1 {
				r = scheduler.Result{Fault: fault.Timeout}
			}
			f.complete(l, r)
		}
		if d := <-done; d != 3*time.Second+2*throttle {
			t.Errorf("Drained after %v", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.add(storetest.Link("http://b.test/", scheduler.Index))
		time.AfterFunc(time.Second, cancel)
		if err := f.Drained(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Drained = %v, want the context's error", err)
		}
	})
}

// TestDrainedCountsWhatIsDue: retries that are due at the start are crawled first.
func TestDrainedCountsWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		prepareDue(t, store, storetest.Links(3, "http://h%d.test/", scheduler.Index))
		f := run(t, store)
		defer f.end()
		n := 0
		f.work(1, func(l *scheduler.Lease) {
			n++
			f.complete(l, ok(l))
		})
		if n != 3 {
			t.Errorf("%d URLs were fetched, want the 3 that were due", n)
		}
	})
}

// TestRemovedWhileWaiting: what the operator removed or re-queued is not fetched
// from where it stood.
func TestRemovedWhileInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		f := run(t, store)
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		l := f.next()
		if err := store.Forget(t.Context(), l.Key, nil); err != nil {
			t.Fatal(err)
		}
		f.complete(l, ok(l))
		if err := f.Drained(t.Context()); err != nil {
			t.Error(err)
		}
		f.none(time.Hour)
	})
}

func TestRequeuedFromRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		due := storetest.Links(3, "http://a.test/%d", scheduler.Index)
		prepareDue(t, store, due)
		f := run(t, store, func(s *scheduler.Settings) { s.SmartRefresh = true })
		defer f.end()
		l := f.next() // the others are buffered now
		due[1].Fifo, due[2].Fifo = scheduler.User, scheduler.User
		n, err := f.Add(t.Context(), due[1:], true)
		if n != 2 || err != nil {
			t.Fatal(n, err)
		}
		f.complete(l, ok(l))
		for range 2 {
			if l = f.next(); l.Place.Source != scheduler.User {
				t.Errorf("%v came from %v", l.URL, l.Place.Source)
			}
			f.complete(l, ok(l))
		}
		f.none(time.Hour)
	})
}

func TestNextTellsOfClosedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, closed := &storetest.Faulty{Store: storetest.NewMemory()}, scheduler.ErrClosed
		store.Before = func(_ context.Context, method string) error {
			if method == "Queue" {
				return closed
			}
			return nil
		}
		f := run(t, store)
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		if _, err := f.Next(t.Context()); !errors.Is(err, scheduler.ErrClosed) {
			t.Errorf("Next = %v, want ErrClosed", err)
		}
	})
}

func TestEndedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, storetest.NewMemory())
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		l := f.next()
		f.complete(l, ok(l))
		if err := f.Complete(t.Context(), l, ok(l)); err == nil {
			t.Error("a lease was completed twice")
		}
		f.GiveBack(l, false, time.Time{})
		if err := f.Wait(t.Context(), l, time.Now(), scheduler.ReasonRobotsUnreachable, ""); err == nil {
			t.Error("a lease was completed and waits")
		}
		if s := f.Snapshot(); s.InFlight != 0 {
			t.Errorf("%d in flight, want none", s.InFlight)
		}
	})
}
