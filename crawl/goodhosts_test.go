package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/testing/hostile"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestGoodBesideHostile measures what three good hosts lose beside 35 hostile ones, each with
// hundreds of URLs: their pages a second alone and beside them, in turn. A host's pause is
// 100 ms, so that at most ten a second are there to be had.
func TestGoodBesideHostile(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("SEXTANT_BESIDE"))
	if err != nil {
		t.Skip("a measurement: SEXTANT_BESIDE=20s says for how long")
	}
	for round := range 3 {
		for _, n := range []int{0, 35} {
			good, bad := besideHostile(t, n, d)
			t.Logf("round %d, %2d hostile hosts: %.2f pages/s a good host; %.1f hostile requests/s in all", round+1, n, good, bad)
		}
	}
}

// besideHostile crawls for d, and returns the rates of its last four fifths.
func besideHostile(t *testing.T, hostiles int, d time.Duration) (good, bad float64) {
	const hosts, urls = 3, 400
	var pages atomic.Int64
	var roots []string
	for range hosts {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			pages.Add(1)
			page, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%d</title><p>%s", page, strings.Repeat(fmt.Sprintf("word%d ", page), 400))
			for i := range 4 {
				fmt.Fprintf(w, `<a href="/%d">more</a>`, page*4+i+1)
			}
		}))
		defer s.Close()
		roots = append(roots, s.URL+"/")
	}
	own := slices.Clone(roots)
	servers, cases := hostile.Start(t), hostile.Read(t, "../testdata/hostile/servers.md")
	for i := range hostiles {
		for k := range urls {
			roots = append(roots, fmt.Sprintf("%s?%d", servers.URLs[cases[i*len(cases)/hostiles].Name], k))
		}
	}
	b := newBench(t, roots...)
	s := &b.settings
	s.Workers, s.Frontier.Aggressive, s.Frontier.Throttle, s.IgnoreRobots = 32, false, 100*time.Millisecond, true
	s.Fetches = []policy.Fetch{{
		Fetcher: fetcher.DefaultSettings(),
		Match:   func(u weburl.URL) bool { return slices.Contains(own, u.Origin()+"/") },
	}}
	patiently(s, servers, cases)
	b.with(func(c *Crawl, _ *badgerstore.Store) {
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), Once{}) }()
		time.Sleep(d / 5)
		goods, all, began := pages.Load(), c.meter.Totals().Requests, time.Now()
		time.Sleep(d - d/5)
		goods, all = pages.Load()-goods, c.meter.Totals().Requests-all
		seconds := time.Since(began).Seconds()
		good, bad = float64(goods)/hosts/seconds, float64(all-goods)/seconds
		c.Stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return good, bad
}
