package crawl

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestPause: a paused crawl makes no request, also after a restart, and goes on
// where it was.
func TestPause(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 20})
	b := newBench(t, site.URL())
	for range 2 {
		b.with(func(c *Crawl, store *store.Store) {
			if err := c.Pause(t.Context()); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Run(t.Context(), Once{}) }()
			for c.meter.Activities.Snapshot().At[meter.WaitsForURL] < b.settings.Workers {
				time.Sleep(time.Millisecond)
			}
			s, err := c.Status(t.Context())
			if err != nil || !s.Paused || s.IdleCode != IdlePaused {
				t.Errorf("status %+v, %v; want paused", s, err)
			}
			c.Stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if s, err := StoredStatus(t.Context(), "test", store); err != nil || !s.Paused {
				t.Errorf("stored status %+v, %v; want paused", s, err)
			}
		})
	}
	if n := len(site.Visits()); n != 0 {
		t.Errorf("%d requests while paused", n)
	}
	b.with(func(c *Crawl, _ *store.Store) {
		if s, err := c.Status(t.Context()); err != nil || !s.Paused {
			t.Errorf("after a restart: %+v, %v; want paused", s, err)
		}
		if err := c.Run(t.Context(), Once{Drain: true}); !errors.Is(err, ErrPaused) {
			t.Errorf("a paused crawl that is to end: %v", err)
		}
	})
	b.with(func(c *Crawl, _ *store.Store) {
		if err := c.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Error(err)
		}
	})
	if diff := cmp.Diff(site.Documents(), b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestIdle(t *testing.T) {
	at := func(counts map[meter.Activity]int) (a meter.ActivitySnapshot) {
		for what, n := range counts {
			a.At[what], a.Workers = n, a.Workers+n
		}
		return a
	}
	slow := at(map[meter.Activity]int{meter.WaitsForStore: 1, meter.WaitsForURL: 1})
	slow.Longest[meter.WaitsForStore] = 2 * meter.SlowStore
	for _, tt := range []struct {
		code   string
		f      scheduler.Snapshot
		a      meter.ActivitySnapshot
		change func(*Crawl)
	}{
		{"", scheduler.Snapshot{}, at(map[meter.Activity]int{meter.WaitsForURL: 1, meter.WaitsForFetch: 3}), nil},
		{IdleSlotsFull, scheduler.Snapshot{Hosts: 5}, at(map[meter.Activity]int{meter.WaitsForFetch: 3, meter.Working: 1}), nil},
		{IdleNoURL, scheduler.Snapshot{Idle: "nothing waits", IdleCode: scheduler.IdleDone}, at(map[meter.Activity]int{meter.WaitsForURL: 4}), nil},
		{IdleHostsClosed, scheduler.Snapshot{Idle: "all hosts with work rest", IdleCode: scheduler.IdleClosed}, at(map[meter.Activity]int{meter.WaitsForURL: 4}), nil},
		{IdleHostsBusy, scheduler.Snapshot{Idle: "all hosts with work are being visited", IdleCode: scheduler.IdleVisited}, at(map[meter.Activity]int{meter.WaitsForURL: 4}), nil},
		{IdleRateLimit, scheduler.Snapshot{Hosts: 2}, at(map[meter.Activity]int{meter.WaitsForRate: 4}), nil},
		{IdleHostsClosed, scheduler.Snapshot{Idle: "rest", IdleCode: scheduler.IdleClosed}, at(map[meter.Activity]int{meter.WaitsForRate: 3, meter.WaitsForURL: 1}), nil},
		{IdleStoreSlow, scheduler.Snapshot{Hosts: 2}, slow, nil},
		{IdleOutboxFull, scheduler.Snapshot{Hosts: 2}, at(map[meter.Activity]int{meter.WaitsForOutbox: 4}), func(c *Crawl) { c.gates.outboxFull.Store(4) }},
		{IdleStopping, scheduler.Snapshot{}, slow, func(c *Crawl) { c.Stop() }},
	} {
		c := newPassCrawl(t, everything(), teststore.New(t))
		if tt.change != nil {
			tt.change(c)
		}
		if code, words := c.idle(tt.f, tt.a); code != tt.code || (words == "") != (code == "" || code == IdleSlotsFull) {
			t.Errorf("got %q %q, want %q", code, words, tt.code)
		}
	}
}

// TestFrontiersReasonsHaveCodes: each reason that the frontier itself gives.
func TestFrontiersReasonsHaveCodes(t *testing.T) {
	c := newPassCrawl(t, everything(), teststore.New(t))
	if got := frontierIdle(c.frontier.Snapshot()); got != IdleStarting {
		t.Errorf("before Run: %q, want %q", got, IdleStarting)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.frontier.Run(ctx) }()
	if err := c.frontier.Drained(ctx); err != nil {
		t.Fatal(err)
	}
	if got := frontierIdle(c.frontier.Snapshot()); got != IdleNoURL {
		t.Errorf("without work: %q, want %q", got, IdleNoURL)
	}
	set := policy.FrontierSettings(c.policy())
	set.Weights = [scheduler.Sources]int{}
	c.frontier.Apply(set)
	if _, err := c.frontier.Add(ctx, []scheduler.Link{{URL: parse(t, "http://a.test/"), Fifo: scheduler.Index}}, false); err != nil {
		t.Fatal(err)
	}
	if got := frontierIdle(c.frontier.Snapshot()); got != IdleSourcesOff {
		t.Errorf("with sources switched off: %q, want %q", got, IdleSourcesOff)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestPendingDeletions: what is pending is listed, released and dropped; dropped
// ones are asked for again by the crawl that is at work.
func TestPendingDeletions(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 6})
	origin := site.Origins()[0]
	b := newBench(t, site.URL())
	b.settings.Frontier.Deletions = scheduler.DefaultSettings().Deletions
	b.once()
	for i := 2; i < 6; i++ {
		site.Remove(testsite.Path(i))
	}
	b.newOrders()
	b.refreshed(Selection{All: true})
	if sent := b.newOrders(); len(sent) > 0 {
		t.Errorf("%v left, want all pending: more than a fifth of the host's documents are to go", sent)
	}
	b.with(func(c *Crawl, _ *store.Store) {
		var pending []string
		err := c.store.PendingDeletions(t.Context(), scheduler.DeletionFilter{}, func(d scheduler.StoredDeletion) error {
			if d.Reason != scheduler.ReasonNotFound || !d.Explicit || d.Replaces {
				t.Errorf("%+v, want an explicit deletion of a page that was not found", d)
			}
			pending = append(pending, d.URL)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(pending) != 4 {
			t.Fatalf("%v are pending, want 4", pending)
		}
		if n, err := c.Release(t.Context(), scheduler.DeletionFilter{URLs: pending[:1]}); n != 1 || err != nil {
			t.Errorf("released %d, %v", n, err)
		}
		page := strings.TrimPrefix(pending[1], origin)
		site.Set(page, testsite.HTML("back", "back"))
		hits := site.Hits(page)
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- c.Run(ctx, Once{}) }()
		if err := c.frontier.Drained(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := c.DropDeletions(ctx, scheduler.DeletionFilter{URLs: pending[1:2]}); n != 1 || err != nil {
			t.Errorf("dropped %d, %v", n, err)
		}
		if err := c.frontier.Drained(ctx); err != nil {
			t.Fatal(err)
		}
		if site.Hits(page) != hits+1 {
			t.Errorf("%s was asked for %d times after its deletion was dropped, want once", page, site.Hits(page)-hits)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPerAddress: hosts at one address are never visited at once, robots.txt
// included, and every request is apart from the one before by the throttle.
func TestPerAddress(t *testing.T) {
	const throttle = 30 * time.Millisecond
	site := testsite.New(t, testsite.Options{Pages: 4, Hosts: 4})
	var roots []string
	for _, o := range site.Origins() {
		roots = append(roots, o+"/")
	}
	b := newBench(t, roots...)
	b.settings.Workers = 8
	b.settings.Frontier.PerAddress = true
	b.settings.Frontier.Aggressive, b.settings.Frontier.Throttle = false, throttle
	b.once()
	if diff := cmp.Diff(site.Documents(), b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	visits := site.Visits()
	for i := 1; i < len(visits); i++ {
		if gap := visits[i].Begin.Sub(visits[i-1].End); gap < throttle {
			t.Errorf("%s%s came %s after %s%s", visits[i].Host, visits[i].Path, gap, visits[i-1].Host, visits[i-1].Path)
		}
	}
}

// TestTruncatedBodies are marked in the document.
func TestTruncatedBodies(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 2})
	site.Set(testsite.Path(1), testsite.HTML("long", strings.Repeat("word ", 2000)))
	b := newBench(t, site.URL())
	b.settings.Fetcher.MaxBodyBytes = 5000
	b.once()
	for path, want := range map[string][]string{"/": nil, testsite.Path(1): {"true"}} {
		if got := b.target.documents[site.Origins()[0]+path].Metas["truncated"]; !cmp.Equal(want, got) {
			t.Errorf("%s: truncated %v, want %v", path, got, want)
		}
	}
	if lastStatus(site, testsite.Path(1)) != http.StatusOK {
		t.Error("the long page was not had")
	}
}
