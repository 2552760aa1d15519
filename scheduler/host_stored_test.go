package scheduler_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// hostWrites counts the completions that store a host's state.
type hostWrites struct {
	scheduler.Store
	mu   sync.Mutex
	n    int
	last scheduler.HostState
}

func (h *hostWrites) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	if c.Host != nil {
		h.mu.Lock()
		h.n++
		h.last = *c.Host
		h.mu.Unlock()
	}
	return h.Store.Complete(ctx, c, settled)
}

// TestHostIsStoredWhenItMatters: the ordinary throttle is not news, and what was
// stored is stored again only when it changes.
func TestHostIsStoredWhenItMatters(t *testing.T) {
	bad := scheduler.Result{Status: 404, Decided: scheduler.Index}
	down := scheduler.Result{Fault: fault.Timeout, Decided: scheduler.Index}
	busy := scheduler.Result{Status: 429, HasRetryAfter: true, RetryAfter: time.Hour, Decided: scheduler.Index}
	good := scheduler.Result{Status: 200, Decided: scheduler.Index}
	same := scheduler.Result{Status: 304, Conditional: true, Decided: scheduler.Index}
	for _, c := range []struct {
		name      string
		delay     time.Duration
		documents bool // of URLs that have some
		answers   []scheduler.Result
		want      int
	}{
		{"good", 0, false, []scheduler.Result{good, good, good}, 0},
		{"single errors", 0, false, []scheduler.Result{good, bad, good, bad, good}, 0},
		{"errors in a row", 0, false, []scheduler.Result{bad, bad, bad, good, good}, 0},
		{"crawl-delay", time.Minute, false, []scheduler.Result{good, good, good}, 1},
		{"down and up", 0, false, []scheduler.Result{down, good, good}, 2},
		{"retry-after", 0, false, []scheduler.Result{busy, good, good}, 2},
		{"good documents", 0, true, []scheduler.Result{same, same, same}, 0},
		{"documents turn bad", 0, true, []scheduler.Result{same, bad, bad, bad}, 3},
		{"one was bad", 0, true, []scheduler.Result{bad, same, same, same, same, same, same, same, same, same, same, same, same}, 11},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &hostWrites{Store: teststore.New(t)}
			f := run(t, store, func(s *scheduler.Settings) { s.Aggressive, s.Throttle = c.documents, 0 })
			defer f.end()
			if all := storetest.Links(20, "http://a.test/%d", scheduler.Index); c.documents {
				f.known(all)
				store.n = 0
			} else {
				f.add(all...)
			}
			for _, r := range c.answers {
				l := f.next()
				f.Delay(l.Place.Host, c.delay)
				f.complete(l, r)
			}
			if store.n != c.want {
				t.Errorf("%s: the host was stored %d times, want %d; last %+v", c.name, store.n, c.want, store.last)
			}
		})
	}
}

// TestStoredTimesAreBounded: a clock that was set back by a year closes no host
// for longer than it may have asked for.
func TestStoredTimesAreBounded(t *testing.T) {
	year := 365 * 24 * time.Hour
	for _, crash := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := teststore.New(t)
			time.Sleep(year) // by the clock of the first run
			f := run(t, store)
			f.add(storetest.Links(3, "http://a.test/%d", scheduler.User)...)
			f.add(storetest.Links(3, "http://b.test/%d", scheduler.Index)...)
			l := f.next()
			f.complete(l, scheduler.Result{Status: 503, HasRetryAfter: true, RetryAfter: 2 * time.Hour})
			l = f.next()
			f.complete(l, ok(l))
			f.end()
			if !crash {
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
			f = run(t, earlier{store.Reopen(), year})
			defer f.end()
			begin := time.Now()
			if l = f.next(); l.URL.Host() != "b.test" || time.Since(begin) != throttle {
				t.Errorf("crash %t: %v came after %v, want b after the throttle", crash, l.URL, time.Since(begin))
			}
			if l = f.next(); l.URL.Host() != "a.test" || time.Since(begin) > 24*time.Hour {
				t.Errorf("crash %t: %v came after %v, want a within a day", crash, l.URL, time.Since(begin))
			}
		})
	}
}

// earlier makes the times that are stored of hosts lie later, as they do when the
// clock was set back.
type earlier struct {
	scheduler.Store
	by time.Duration
}

func (e earlier) Host(ctx context.Context, h weburl.HostKey) (scheduler.HostState, error) {
	s, err := e.Store.Host(ctx, h)
	if !s.NextAt.IsZero() {
		s.NextAt = s.NextAt.Add(e.by)
	}
	return s, err
}

func (e earlier) Value(ctx context.Context, name scheduler.ValueName) ([]byte, error) {
	v, err := e.Store.Value(ctx, name)
	if name != scheduler.PartValue(0, "scheduler.rests") || len(v) == 0 {
		return v, err
	}
	for b := v; len(b) >= 8; b = b[min(len(weburl.HostKey{})+8, len(b)):] { // the time, then each host's key and time
		binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)+uint64(e.by))
	}
	return v, err
}

// TestDamagedRests: what cannot be read is told, not guessed at.
func TestDamagedRests(t *testing.T) {
	const name = "scheduler.rests"
	store := teststore.New(t)
	if err := store.SetValue(t.Context(), scheduler.PartValue(0, name), []byte{0xff}); err != nil {
		t.Fatal(err)
	}
	f := scheduler.New(store, scheduler.DefaultSettings(), slog.New(slog.DiscardHandler))
	if err := f.Run(t.Context()); !errors.Is(err, scheduler.ErrDamaged) || !strings.Contains(err.Error(), name) {
		t.Errorf("Run = %v, want %s to be damaged", err, name)
	}
}

// batches is a Store that notes how many URLs of a queue it is asked for at once.
type batches struct {
	scheduler.Store
	asked []int
}

func (b *batches) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	b.asked = append(b.asked, n-1) // one more tells whether there are more
	return b.Store.Queue(ctx, p, after, n)
}

// TestBatches: a queue is read in batches of 64; where many hosts have URLs in memory, of 16,
// and one by one beyond what may be there.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &batches{Store: teststore.New(t)}
		f := run(t, store)
		defer f.end()
		want := [...]struct{ reads, urls int }{{66, 64}, {816, 16}, {10, 1}}
		var asked []int
		for _, w := range want {
			for range w.reads {
				asked = append(asked, w.urls)
				f.add(storetest.Links(w.urls+2, fmt.Sprintf("http://h%d.test/%%d", len(asked)), scheduler.Index)...)
			}
		}
		for range asked { // of each batch all but the first URL stay in memory
			f.next()
		}
		if !slices.Equal(store.asked, asked) {
			t.Errorf("reads of %v URLs, want %v", store.asked, asked)
		}
	})
}

// TestShed: URLs of hosts that rest for long are not kept in memory, and come
// once all the same.
func TestShed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := teststore.New(t)
		f := run(t, store)
		defer f.end()
		f.add(storetest.Links(40, "http://a.test/%d", scheduler.Index)...)
		l := f.next()
		f.complete(l, ok(l))
		if n := f.Buffered(); n != 39 {
			t.Errorf("%d URLs are in memory, want the rest of a batch", n)
		}
		l = f.next()
		f.complete(l, scheduler.Result{Status: 429, HasRetryAfter: true, RetryAfter: time.Hour, Decided: scheduler.Index})
		if n := f.Buffered(); n != 0 {
			t.Errorf("%d URLs of a resting host are in memory", n)
		}
		time.Sleep(time.Hour)
		n := 2
		f.work(3, func(l *scheduler.Lease) {
			n++
			f.complete(l, ok(l))
		})
		if n != 41 {
			t.Errorf("%d URLs came, want 40 and one once more", n)
		}
	})
}
