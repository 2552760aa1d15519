package crawl

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// mostWithin is how many of the times lie in one window of this length at most.
func mostWithin(times []time.Time, window time.Duration) int {
	slices.SortFunc(times, time.Time.Compare)
	most := 0
	for i, j := 0, 0; j < len(times); j++ {
		for times[j].Sub(times[i]) >= window {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

// TestRequestsPerSecond: whatever workers do, no second has more requests than the
// limit and its burst, and a crawl with enough work comes up to the limit.
func TestRequestsPerSecond(t *testing.T) {
	for _, perS := range []int{1, 7, 100, 5000} {
		synctest.Test(t, func(t *testing.T) {
			r := seeded.Rand(t)
			l := newLimits(&policy.Settings{MaxRequestsPerS: perS})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var mu sync.Mutex
			var requests []time.Time
			var workers sync.WaitGroup
			for range 500 {
				workers.Go(func() {
					for {
						token, err := l.begin(ctx)
						if err != nil {
							return
						}
						if r.IntN(200) == 0 {
							time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond) // no URL yet
						}
						l.got(&token)
						if r.IntN(3) == 0 {
							l.back(token) // the rules exclude it
							continue
						}
						mu.Lock()
						requests = append(requests, time.Now())
						mu.Unlock()
						time.Sleep(50 * time.Millisecond)
					}
				})
			}
			workers.Wait()
			if got, most := mostWithin(requests, time.Second), perS+max(perS/20, 1)+1; got > most {
				t.Errorf("limit %d: %d requests in one second, want at most %d", perS, got, most)
			}
			if least := perS * 20 * 9 / 10; len(requests) < least {
				t.Errorf("limit %d: %d requests in 20 s, want %d and more", perS, len(requests), least)
			}
		})
	}
}

// TestTokensDoNotGather: workers that waited long for URLs do not make their
// requests at once when there are some.
func TestTokensDoNotGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(&policy.Settings{MaxRequestsPerS: 2})
		urls := make(chan struct{})
		var mu sync.Mutex
		var requests []time.Time
		var workers sync.WaitGroup
		for range 20 {
			workers.Go(func() {
				token, err := l.begin(t.Context())
				if err != nil {
					t.Error(err)
				}
				<-urls
				l.got(&token)
				mu.Lock()
				defer mu.Unlock()
				requests = append(requests, time.Now())
			})
		}
		time.Sleep(time.Hour)
		close(urls)
		workers.Wait()
		if got := mostWithin(requests, time.Second); got > 3 {
			t.Errorf("%d requests in one second, want at most 3", got)
		}
	})
}

// TestBytesPerSecond: what is paid for in a second is bounded, large bodies or
// small ones, and who owes begins nothing new.
func TestBytesPerSecond(t *testing.T) {
	for _, perS := range []int64{1000, 50_000, 10 << 20} {
		synctest.Test(t, func(t *testing.T) {
			l := newLimits(&policy.Settings{MaxBytesPerS: perS})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var mu sync.Mutex
			var paid int64
			var workers sync.WaitGroup
			for range 8 {
				workers.Go(func() {
					for {
						token, err := l.begin(ctx)
						if err != nil {
							return
						}
						l.got(&token)
						for body := 200_000; body > 0; body -= 16 << 10 {
							n := min(body, 16<<10)
							if l.pay(ctx, n) != nil {
								return
							}
							mu.Lock()
							paid += int64(n)
							mu.Unlock()
						}
					}
				})
			}
			workers.Wait()
			if most := perS*30 + max(perS/20, leastByteBurst); paid > most || paid < perS*30-8*16<<10 {
				t.Errorf("limit %d: %d bytes in 30 s, want at most %d", perS, paid, most)
			}
		})
	}
}

// TestReloadChangesLimits: those that wait go on by the new ones.
func TestReloadChangesLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(&policy.Settings{MaxRequestsPerS: 1})
		requests, began := 0, time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		go func() {
			time.Sleep(10 * time.Second)
			l.apply(&policy.Settings{MaxRequestsPerS: 10})
			time.Sleep(5 * time.Second)
			l.apply(&policy.Settings{})
		}()
		for ctx.Err() == nil && requests < 1000 {
			token, err := l.begin(ctx)
			if err != nil {
				break
			}
			l.got(&token)
			requests++
		}
		if requests != 1000 {
			t.Errorf("%d requests, want no limit in the end", requests)
		}
		if d := time.Since(began); d < 14*time.Second || d > 17*time.Second {
			t.Errorf("the limits were lifted after %s, want 15 s", d)
		}
	})
}

// TestRequestLimitAtTheServer: every request counts, robots.txt and redirects too.
func TestRequestLimitAtTheServer(t *testing.T) {
	const perS = 60
	site := testsite.New(t, testsite.Options{Pages: 12, Hosts: 4})
	var roots []string
	for _, o := range site.Origins() {
		roots = append(roots, o+"/")
	}
	b := newBench(t, roots...)
	b.settings.Workers = 16
	b.settings.MaxRequestsPerS = perS
	var began time.Time // the server may see even the first request late
	b.with(func(c *Crawl, _ *store.Store) {
		began = time.Now()
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
	})
	visits := site.Visits()
	last := began
	for _, v := range visits {
		if v.Begin.After(last) {
			last = v.Begin
		}
	}
	// The first ones of a burst come at once; none can come earlier than this.
	if least := time.Duration(len(visits)-1-perS/20-1) * time.Second / perS; last.Sub(began) < least {
		t.Errorf("%d requests within %s, want %s and more", len(visits), last.Sub(began), least)
	}
	if !slices.ContainsFunc(visits, func(v testsite.Visit) bool { return v.Path == "/robots.txt" }) {
		t.Error("no robots.txt among the requests")
	}
}

// TestByteLimitAtTheServer: large bodies take the time that the limit gives them,
// also compressed ones by what came over the wire.
func TestByteLimitAtTheServer(t *testing.T) {
	const perS, size, pages = 400_000, 100_000, 4
	page := []byte("<title>t</title>" + strings.Repeat("x ", size/2))
	var mu sync.Mutex
	var begins []time.Time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		begins = append(begins, time.Now())
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/":
			for i := range pages {
				_, _ = w.Write([]byte("<a href=/" + strings.Repeat("p", i+1) + ">x</a>"))
			}
		default:
			_, _ = w.Write(page)
		}
	}))
	defer server.Close()
	b := newBench(t, server.URL+"/")
	b.settings.Workers = 1
	b.settings.MaxBytesPerS = perS
	began := time.Now()
	b.once()
	// Measured at both ends: the last page is paid for before the crawl ends.
	if least := time.Duration(pages*size-perS/20) * time.Second / perS; time.Since(began) < least {
		t.Errorf("the crawl took %s, want %s and more", time.Since(began), least)
	}
	if len(b.indexed()) != pages+1 {
		t.Errorf("indexed %v", b.indexed())
	}
	if begins[len(begins)-1].Sub(began) < time.Duration((pages-1)*size-perS/20)*time.Second/perS {
		t.Errorf("the last page was asked for %s after the beginning", begins[len(begins)-1].Sub(began))
	}
}

// TestStopWhileLimited: workers that wait for the limit end at once.
func TestStopWhileLimited(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 30})
	b := newBench(t, site.URL())
	b.settings.MaxBytesPerS = 1
	b.with(func(c *Crawl, _ *store.Store) {
		c.gates.limits.bytes.ReserveN(time.Now(), leastByteBurst)
		c.gates.limits.bytes.ReserveN(time.Now(), leastByteBurst) // owed for an hour
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), Once{}) }()
		for a := c.meter.Activities.Snapshot(); a.Workers < 4 || a.At[meter.WaitsForRate] < 4; a = c.meter.Activities.Snapshot() {
			time.Sleep(time.Millisecond)
		}
		if s, err := c.Status(t.Context()); err != nil || s.IdleCode != IdleRateLimit {
			t.Errorf("status %q %q, %v; want the rate limit", s.IdleCode, s.Idle, err)
		}
		c.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if len(site.Visits()) != 0 {
		t.Errorf("%d requests while bytes were owed", len(site.Visits()))
	}
}
