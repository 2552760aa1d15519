package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const throttle = 2500 * time.Millisecond

// ok returns the result of a page without document; d is where the rules put it.
func ok(l *scheduler.Lease) scheduler.Result {
	return scheduler.Result{Status: 200, Decided: l.Record.Fifo}
}

// running is a Frontier whose Run runs; end ends it.
type running struct {
	*scheduler.Frontier
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
}

func run(t *testing.T, s scheduler.Store, change ...func(*scheduler.Settings)) *running {
	t.Helper()
	r := prepare(t, s, change...)
	r.start()
	return r
}

// prepare makes a frontier that start has run.
func prepare(t *testing.T, s scheduler.Store, change ...func(*scheduler.Settings)) *running {
	t.Helper()
	set := scheduler.DefaultSettings()
	for _, c := range change {
		c(&set)
	}
	return &running{scheduler.New(s, set, slog.New(slog.DiscardHandler)), t, nil, make(chan error, 1)}
}

func (r *running) start() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.cancel = cancel
	go func() { r.done <- r.Run(ctx) }()
}

func (r *running) end() {
	r.t.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		r.t.Errorf("Run: %v", err)
	}
}

func (r *running) add(links ...scheduler.Link) {
	r.t.Helper()
	if n, err := r.Add(r.t.Context(), links, false); err != nil || n != len(links) {
		r.t.Fatalf("Add = %d, %v; want %d", n, err, len(links))
	}
}

func (r *running) next() *scheduler.Lease {
	r.t.Helper()
	l, err := r.Next(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

func (r *running) complete(l *scheduler.Lease, res scheduler.Result) {
	r.t.Helper()
	if err := r.Complete(r.t.Context(), l, res); err != nil {
		r.t.Fatal(err)
	}
}

// none expects that no URL is given out within d.
func (r *running) none(d time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), d)
	defer cancel()
	if l, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		r.t.Fatalf("Next = %v, %v; want nothing for %v", l, err, d)
	}
}

// work runs n workers until Drained says that all is done.
func (r *running) work(n int, visit func(*scheduler.Lease)) {
	r.t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				l, err := r.Next(r.t.Context())
				if errors.Is(err, scheduler.ErrStopped) {
					return
				}
				if err != nil {
					r.t.Errorf("Next: %v", err)
					return
				}
				visit(l)
			}
		})
	}
	if err := r.Drained(r.t.Context()); err != nil {
		r.t.Errorf("Drained: %v", err)
	}
	r.Stop()
	wg.Wait()
}

func TestOrderWithinAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		all := storetest.Links(50, "http://a.test/%d", scheduler.Index)
		f.add(all...)
		for i, want := range all {
			l := f.next()
			if l.URL.String() != want.URL.String() || l.Key != want.URL.Key() {
				t.Fatalf("URL %d is %v, want %v", i, l.URL, want.URL)
			}
			if i%7 == 3 { // stands first again
				f.GiveBack(l, false, time.Time{})
				if again := f.next(); again.Key != l.Key {
					t.Fatalf("after giving back %v came %v", l.URL, again.URL)
				} else {
					l = again
				}
			}
			f.complete(l, ok(l))
		}
	})
}

// TestHostsTakeTurns: the ready host that waits longest comes first.
func TestHostsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		for h := range 5 {
			f.add(storetest.Links(4, fmt.Sprintf("http://h%d.test/%%d", h), scheduler.Index)...)
		}
		for round := range 4 {
			for h := range 5 {
				l := f.next()
				if want := fmt.Sprintf("http://h%d.test/%d", h, round); l.URL.String() != want {
					t.Fatalf("%v came, want %s", l.URL, want)
				}
				f.complete(l, ok(l))
				time.Sleep(time.Millisecond)
			}
		}
	})
}

// TestWeights: with all sources backlogged at many hosts the picks of the whole
// frontier keep the bound that its stride keeps.
func TestWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weights := [scheduler.Sources]int{50, 20, 10, 5, 2, 1}
		store := teststore.New(t)
		due := storetest.Links(200, "http://r%d.test/", scheduler.Index)
		prepareDue(t, store, due)
		f := run(t, store, func(s *scheduler.Settings) { s.Weights, s.SmartRefresh = weights, true })
		defer f.end()
		for s := scheduler.User; s < scheduler.Refresh; s++ {
			for h := range 100 {
				f.add(storetest.Links(30, fmt.Sprintf("http://h%d-%d.test/%%d", s, h), s)...)
			}
		}
		synctest.Wait()
		var picks [scheduler.Sources]int
		var low, high [scheduler.Sources]int
		for n := 1; n <= 2000; n++ {
			l := f.next()
			picks[l.Place.Source]++
			f.complete(l, ok(l))
			for i, w := range weights {
				d := picks[i]*88 - n*w
				low[i], high[i] = min(low[i], d), max(high[i], d)
				if high[i]-low[i] > 6*88 {
					t.Fatalf("after %d picks %v has %d", n, scheduler.Source(i), picks[i])
				}
			}
			if n%90 == 0 {
				time.Sleep(throttle)
				synctest.Wait() // until the gates are open
			}
		}
		t.Log("picks", picks)
	})
}

// prepareDue stores URLs that are due for a refresh.
func prepareDue(t *testing.T, s scheduler.Store, all []scheduler.Link) {
	t.Helper()
	if _, _, err := s.Add(t.Context(), all, false); err != nil {
		t.Fatal(err)
	}
	for i, l := range all {
		r, err := s.Lookup(t.Context(), l.URL.Key())
		if err != nil {
			t.Fatal(err)
		}
		c := scheduler.Completion{Key: l.URL.Key(), Seq: r.Seq, Taken: scheduler.Place{Source: r.Source, Host: r.Host}, Next: r}
		c.Next.State, c.Next.NextAt, c.Next.Class, c.Next.Settled = scheduler.Timed, time.Now().Add(time.Duration(i)-time.Second), scheduler.OK, true
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRetryAndRefresh(t *testing.T) {
	for _, smart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := run(t, teststore.New(t), func(s *scheduler.Settings) { s.SmartRefresh = smart })
			defer f.end()
			f.add(storetest.Link("http://a.test/", scheduler.Follow))
			l, begin := f.next(), time.Now()
			f.complete(l, scheduler.Result{Fault: fault.Timeout, Decided: scheduler.Follow})
			l = f.next()
			if d := time.Since(begin); d < time.Minute || d > 75*time.Second || l.Place.Source != scheduler.Follow || l.Record.Errors != 1 {
				t.Errorf("retry after %v from %v with %d errors", d, l.Place.Source, l.Record.Errors)
			}
			begin = time.Now()
			f.complete(l, scheduler.Result{Status: 404, Decided: scheduler.Follow})
			l = f.next()
			want := scheduler.Index
			if smart {
				want = scheduler.Refresh
			}
			if d := time.Since(begin); d != 7*24*time.Hour || l.Place.Source != want {
				t.Errorf("remembered error refreshed after %v from %v, want %v", d, l.Place.Source, want)
			}
			f.complete(l, ok(l))
			if l.Record.Fifo != scheduler.Follow {
				t.Errorf("the fifo became %v", l.Record.Fifo)
			}
		})
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := teststore.New(t)
		f := run(t, store)
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Follow))
		l, until := f.next(), time.Now().Add(time.Hour)
		if err := f.Wait(t.Context(), l, until, scheduler.ReasonRobotsUnreachable, "robots.txt: status 503"); err != nil {
			t.Fatal(err)
		}
		r, err := store.Lookup(t.Context(), l.Key)
		if err != nil || r.State != scheduler.Timed || r.Class != scheduler.Pending || r.Errors != 0 || r.LastError != "robots.txt: status 503" {
			t.Errorf("record %+v, %v", r, err)
		}
		if err := f.Drained(t.Context()); err != nil {
			t.Error(err)
		}
		if l = f.next(); !time.Now().Equal(until) || l.Place.Source != scheduler.Follow {
			t.Errorf("came at %v from %v, want %v", time.Now(), l.Place.Source, until)
		}
		f.complete(l, ok(l))
	})
}

func TestStopAndContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		f.none(time.Second)
		stopped := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := f.Next(t.Context())
				stopped <- err
			}()
		}
		synctest.Wait()
		f.Stop()
		for range 3 {
			if err := <-stopped; !errors.Is(err, scheduler.ErrStopped) {
				t.Errorf("Next = %v, want ErrStopped", err)
			}
		}
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		if _, err := f.Next(t.Context()); !errors.Is(err, scheduler.ErrStopped) {
			t.Errorf("Next = %v, want ErrStopped", err)
		}
	})
}

// TestOneWakeEach: each of many blocked workers gets its URL though every signal
// wakes but one.
func TestOneWakeEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t))
		defer f.end()
		got := make(chan *scheduler.Lease, 100)
		for range 100 {
			go func() {
				l, err := f.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				got <- l
			}()
		}
		synctest.Wait()
		begin := time.Now()
		f.add(storetest.Links(100, "http://h%d.test/", scheduler.Index)...)
		for range 100 {
			l := <-got
			f.complete(l, ok(l))
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

func TestApplyWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t), func(s *scheduler.Settings) { s.Weights[scheduler.Follow] = 0 })
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Follow))
		f.none(time.Hour)
		if s := f.Snapshot(); s.Idle != "the fifos with work have weight 0" || s.Hosts != 1 {
			t.Errorf("Snapshot = %+v", s)
		}
		if err := f.Drained(t.Context()); err != nil {
			t.Error(err)
		}
		f.Apply(scheduler.DefaultSettings())
		l := f.next()
		f.complete(l, ok(l))
	})
}
