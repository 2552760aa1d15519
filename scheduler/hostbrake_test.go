package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

func hostBrake(s *scheduler.Settings) {
	s.Throttle, s.Aggressive = 0, true
	s.Brake = scheduler.Brake{Host: true}
	s.MaxTemporaryErrors = 1
	s.TemporaryErrorMin = 0
}

// known gives the host of each link a document per link, each already refreshed
// once, and queues all again.
func (r *running) known(links []scheduler.Link) {
	r.t.Helper()
	r.indexAll(links)
	if n, err := r.Add(r.t.Context(), links, true); n != len(links) || err != nil {
		r.t.Fatal(n, err)
	}
}

func (r *running) counts(s scheduler.Store) scheduler.Counts {
	r.t.Helper()
	c, err := s.Counts(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// moved is a redirect to a place that is not crawled.
func moved(place string) scheduler.Result {
	return scheduler.Result{Status: 302, RedirectIgnored: true, Location: place, Decided: scheduler.Index}
}

// TestHostBrake: which 25 answers make a host fail as a whole, so that its
// deletions are held: those of the last five at once, the others' unsent ones after.
func TestHostBrake(t *testing.T) {
	status := func(n int) func(int) scheduler.Result {
		return func(int) scheduler.Result { return scheduler.Result{Status: n, Decided: scheduler.Index} }
	}
	for _, c := range []struct {
		name   string
		answer func(i int) scheduler.Result
		held   uint64 // of 25
	}{
		{"not found", status(404), 25},
		{"server error", status(500), 25},
		{"no connection", func(int) scheduler.Result { return scheduler.Result{Fault: scheduler.Refused} }, 25},
		{"one place", func(int) scheduler.Result { return moved("http://a.test/sorry") }, 25},
		{"one place for log-ins", func(i int) scheduler.Result { return moved(fmt.Sprint("http://a.test/login?back=", i)) }, 25},
		{"log-in pages", func(int) scheduler.Result {
			return scheduler.Result{Status: 200, LoginPage: true, Decided: scheduler.Index}
		}, 25},
		{"all of it", func(i int) scheduler.Result {
			return []scheduler.Result{{Status: 404}, moved("http://a.test/x"), {Fault: scheduler.Timeout}}[i%3]
		}, 25},
		{"places of their own", func(i int) scheduler.Result { return moved(fmt.Sprint("http://b.test/", i)) }, 0},
		{"nineteen and a good one", func(i int) scheduler.Result {
			if i%20 == 19 {
				return scheduler.Result{Status: 304, Conditional: true, Decided: scheduler.Index}
			}
			return scheduler.Result{Status: 404}
		}, 0},
		{"excluded", func(int) scheduler.Result {
			return scheduler.Result{Excluded: &scheduler.Exclusion{Status: 760}}
		}, 0},
		{"nineteen, then excluded", func(i int) scheduler.Result {
			if i >= 19 {
				return scheduler.Result{Excluded: &scheduler.Exclusion{Words: "robots.txt"}}
			}
			return scheduler.Result{Status: 404}
		}, 0},
		{"guarded", func(int) scheduler.Result { return scheduler.Result{Fault: scheduler.AddressFault} }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := storetest.NewMemory()
			f := run(t, store, hostBrake)
			defer f.end()
			f.known(links(25, "http://a.test/%d", scheduler.Index))
			for i := range 25 {
				l := f.next()
				f.complete(l, c.answer(i))
			}
			if got := f.counts(store).Outbox.Held; got != c.held {
				t.Errorf("%s: %d deletions are held, want %d", c.name, got, c.held)
			}
			s := f.Snapshot()
			if c.held > 0 && (s.FailingHosts != 1 || len(s.Failing) != 1 || s.Failing[0].Origin != "http://a.test") || c.held == 0 && s.FailingHosts != 0 {
				t.Errorf("%s: Snapshot tells of %d failing hosts: %v", c.name, s.FailingHosts, s.Failing)
			}
		})
	}
}

// TestHostBrakeSmallHost: fewer than 20 URLs are left to the ordinary brake.
func TestHostBrakeSmallHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		f := run(t, store, hostBrake)
		defer f.end()
		f.known(links(19, "http://a.test/%d", scheduler.Index))
		for range 19 {
			f.complete(f.next(), scheduler.Result{Status: 404})
		}
		if c := f.counts(store); c.Outbox.Held != 0 || c.Known != 0 {
			t.Errorf("%+v, want 19 deletions on their way", c)
		}
	})
}

// TestHostBrakeEnds with the first good answer, which cancels only its own held
// deletion; from then on deletions are sent.
func TestHostBrakeEnds(t *testing.T) {
	for _, good := range []scheduler.Result{
		{Status: 200, Document: &scheduler.Document{Hash: [16]byte{1}, Source: "s"}},
		{Status: 304, Conditional: true},
		moved("http://a.test/elsewhere"),
	} {
		synctest.Test(t, func(t *testing.T) {
			store := storetest.NewMemory()
			f := run(t, store, hostBrake)
			defer f.end()
			all := links(30, "http://a.test/%d", scheduler.Index)
			f.known(all)
			for i := range 25 {
				r := scheduler.Result{Status: 404}
				if i == 0 {
					r = moved("http://a.test/sorry")
				}
				f.complete(f.next(), r)
			}
			good.Decided = scheduler.Index
			f.complete(f.next(), good)
			if s := f.Snapshot(); s.FailingHosts != 0 {
				t.Errorf("status %d: the host still fails", good.Status)
			}
			f.complete(f.next(), scheduler.Result{Status: 404})
			// Three documents and what the last two answers led to.
			want := scheduler.OutboxCounts{Held: 25, Waiting: 5}
			if got := f.counts(store).Outbox; got != want {
				t.Errorf("status %d: outbox %+v, want %+v", good.Status, got, want)
			}
		})
	}
}

// TestHostBrakeSurvives: the count and the state of a host outlive any end.
func TestHostBrakeSurvives(t *testing.T) {
	for _, crash := range []bool{false, true} {
		for _, before := range []int{10, 19, 20, 24} {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewMemory()
				f := run(t, store, hostBrake)
				f.known(links(25, "http://a.test/%d", scheduler.Index))
				for range before {
					f.complete(f.next(), scheduler.Result{Status: 404})
				}
				f.end()
				if !crash {
					if err := store.Close(); err != nil {
						t.Fatal(err)
					}
				}
				store = store.Reopen()
				f = run(t, store, hostBrake)
				defer f.end()
				for range 25 - before {
					f.complete(f.next(), scheduler.Result{Status: 404})
				}
				if got := f.counts(store).Outbox.Held; got != 25 {
					t.Errorf("crash %t after %d: %d deletions are held, want all", crash, before, got)
				}
			})
		}
	}
}

// TestHostBrakeHoldFails: what could not be held is held with the next answer, or
// after a restart.
func TestHostBrakeHoldFails(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			memory, fails := storetest.NewMemory(), 1
			store := &storetest.Faulty{Store: memory, Before: func(_ context.Context, method string) error {
				if method == "HoldHost" && fails > 0 {
					fails--
					return errDisk
				}
				return nil
			}}
			f := run(t, store, hostBrake)
			f.known(links(21, "http://a.test/%d", scheduler.Index))
			for i := range 20 {
				if err := f.Complete(t.Context(), f.next(), scheduler.Result{Status: 404}); (err != nil) != (i == 19) {
					t.Fatalf("completion %d: %v", i, err)
				} else if i == 19 && !errors.Is(err, errDisk) {
					t.Errorf("Complete = %v, want the store's error", err)
				}
			}
			if got := f.counts(memory).Outbox; got.Held != 1 || got.Waiting != 19+1 {
				t.Fatalf("outbox %+v, want the last one alone held", got)
			}
			if restart {
				f.end()
				memory = memory.Reopen()
				f = run(t, memory, hostBrake)
			}
			defer f.end()
			f.complete(f.next(), scheduler.Result{Status: 404})
			if got := f.counts(memory).Outbox; got.Held != 21 {
				t.Errorf("restart %t: outbox %+v, want all held", restart, got)
			}
		})
	}
}

// TestHostBrakeOff forgets what it knew.
func TestHostBrakeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		f := run(t, store, hostBrake)
		defer f.end()
		f.known(links(25, "http://a.test/%d", scheduler.Index))
		for range 22 {
			f.complete(f.next(), scheduler.Result{Status: 404})
		}
		set := scheduler.DefaultSettings()
		hostBrake(&set)
		set.Brake.Host = false
		f.Apply(set)
		f.complete(f.next(), scheduler.Result{Status: 404})
		if got := f.counts(store).Outbox; got.Held != 22 || got.Waiting != 1+2 || f.Snapshot().FailingHosts != 0 {
			t.Errorf("outbox %+v, %d failing; want the last one sent", got, f.Snapshot().FailingHosts)
		}
	})
}
