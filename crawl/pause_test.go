package crawl

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestPause: a paused crawl makes no request, also after a restart, and goes on
// where it was.
func TestPause(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 20})
	b := newBench(t, site.URL())
	for range 2 {
		b.with(func(c *Crawl, store *badgerstore.Store) {
			if err := c.Pause(t.Context()); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Run(t.Context(), Once{}) }()
			for c.meter.activities.snapshot().at[waitsForURL] < b.settings.Workers {
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
	b.with(func(c *Crawl, _ *badgerstore.Store) {
		if s, err := c.Status(t.Context()); err != nil || !s.Paused {
			t.Errorf("after a restart: %+v, %v; want paused", s, err)
		}
		if err := c.Run(t.Context(), Once{Drain: true}); !errors.Is(err, ErrPaused) {
			t.Errorf("a paused crawl that is to end: %v", err)
		}
	})
	b.with(func(c *Crawl, _ *badgerstore.Store) {
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
	at := func(counts map[activity]int) (a activitySnapshot) {
		for what, n := range counts {
			a.at[what], a.workers = n, a.workers+n
		}
		return a
	}
	slow := at(map[activity]int{waitsForStore: 1, waitsForURL: 1})
	slow.longest[waitsForStore] = 2 * slowStore
	for _, tt := range []struct {
		code   string
		f      scheduler.Snapshot
		a      activitySnapshot
		change func(*Crawl)
	}{
		{"", scheduler.Snapshot{}, at(map[activity]int{waitsForURL: 1, waitsForFetch: 3}), nil},
		{IdleSlotsFull, scheduler.Snapshot{Hosts: 5}, at(map[activity]int{waitsForFetch: 3, working: 1}), nil},
		{IdleNoURL, scheduler.Snapshot{Idle: "nothing waits", IdleCode: scheduler.IdleDone}, at(map[activity]int{waitsForURL: 4}), nil},
		{IdleHostsClosed, scheduler.Snapshot{Idle: "all hosts with work rest", IdleCode: scheduler.IdleClosed}, at(map[activity]int{waitsForURL: 4}), nil},
		{IdleHostsBusy, scheduler.Snapshot{Idle: "all hosts with work are being visited", IdleCode: scheduler.IdleVisited}, at(map[activity]int{waitsForURL: 4}), nil},
		{IdleRateLimit, scheduler.Snapshot{Hosts: 2}, at(map[activity]int{waitsForRate: 4}), nil},
		{IdleHostsClosed, scheduler.Snapshot{Idle: "rest", IdleCode: scheduler.IdleClosed}, at(map[activity]int{waitsForRate: 3, waitsForURL: 1}), nil},
		{IdleStoreSlow, scheduler.Snapshot{Hosts: 2}, slow, nil},
		{IdleOutboxFull, scheduler.Snapshot{Hosts: 2}, at(map[activity]int{waitsForOutbox: 4}), func(c *Crawl) { c.outboxFull.Store(4) }},
		{IdleStopping, scheduler.Snapshot{}, slow, func(c *Crawl) { c.Stop() }},
	} {
		c := newPassCrawl(t, everything(), newMemoryStore())
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
	c := newPassCrawl(t, everything(), newMemoryStore())
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
	set := frontierSettings(c.policy())
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

// TestActivitiesAddUp: what workers spend their time with is all of their time,
// what they are at just now included.
func TestActivitiesAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l activityLog
		var workers sync.WaitGroup
		for i := range 3 {
			workers.Go(func() {
				s := l.slot()
				defer s.close()
				time.Sleep(time.Second)
				s.now(waitsForFetch)
				time.Sleep(time.Duration(i+1) * time.Second)
				s.now(working)
				time.Sleep(time.Minute)
			})
		}
		time.Sleep(3*time.Second + time.Millisecond)
		s := l.snapshot()
		if s.workers != 3 || s.at[waitsForFetch] != 1 || s.at[working] != 2 || s.longest[waitsForFetch] != 2*time.Second+time.Millisecond {
			t.Errorf("%+v", s)
		}
		workers.Wait()
		if s = l.snapshot(); s.workers != 0 || s.spent[waitsForURL] != 3*time.Second || s.spent[waitsForFetch] != 6*time.Second || s.spent[working] != 3*time.Minute {
			t.Errorf("%+v", s)
		}
	})
}

// TestHeldDeletions: what is held is listed, released and dropped; dropped
// ones are asked for again by the crawl that is at work.
func TestHeldDeletions(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 6})
	origin := site.Origins()[0]
	b := newBench(t, site.URL())
	b.settings.Frontier.Brake = scheduler.DefaultSettings().Brake
	b.once()
	for i := 2; i < 6; i++ {
		site.Remove(testsite.Path(i))
	}
	b.newOrders()
	b.refreshed(Selection{All: true})
	if sent := b.newOrders(); len(sent) > 0 {
		t.Errorf("%v left, want all held: more than a fifth of the host's documents are to go", sent)
	}
	b.with(func(c *Crawl, _ *badgerstore.Store) {
		var held []string
		err := c.Deletions(t.Context(), scheduler.DeletionFilter{State: scheduler.DeletionHeld}, func(d scheduler.StoredDeletion) error {
			if d.Hold != scheduler.HeldForHost || d.Reason != scheduler.ReasonNotFound {
				t.Errorf("%s is held for %v, %v; want the host's share, not found", d.URL, d.Hold, d.Reason)
			}
			held = append(held, d.URL)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(held) != 4 {
			t.Fatalf("%v held, want 4", held)
		}
		if n, err := c.Release(t.Context(), scheduler.DeletionFilter{URLs: held[:1]}); n != 1 || err != nil {
			t.Errorf("released %d, %v", n, err)
		}
		page := strings.TrimPrefix(held[1], origin)
		site.Set(page, testsite.HTML("back", "back"))
		hits := site.Hits(page)
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- c.Run(ctx, Once{}) }()
		if err := c.frontier.Drained(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := c.DropDeletions(ctx, scheduler.DeletionFilter{URLs: held[1:2]}); n != 1 || err != nil {
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

// TestLoginPages: pages in place of others are log-in pages, pages with a log-in
// box are not.
func TestLoginPages(t *testing.T) {
	var l logins
	at := func(host, path string) *scheduler.Lease {
		u := parse(t, "http://"+host+path)
		return &scheduler.Lease{Key: u.Key(), Place: scheduler.Place{Host: u.HostKey()}}
	}
	wall := extract.Page{Title: "Log in", Text: "User Password", Password: true}
	box := func(s string) extract.Page { return extract.Page{Title: s, Text: s + " User Password", Password: true} }
	for i, tt := range []struct {
		host, path string
		page       extract.Page
		want       bool
	}{
		{"a.test", "/login", wall, false},
		{"a.test", "/login", wall, false}, // it is refreshed
		{"a.test", "/1", wall, true},
		{"b.test", "/2", wall, false}, // another host
		{"a.test", "/2", extract.Page{Title: "Log in", Text: "User Password"}, false},
		{"a.test", "/3", wall, true},
		{"a.test", "/login", wall, true},
		{"a.test", "/4", box("four"), false},
		{"a.test", "/5", box("five"), false},
		{"a.test", "/6", wall, false},
		{"a.test", "/7", wall, true},
	} {
		if got := l.is(at(tt.host, tt.path), &tt.page); got != tt.want {
			t.Errorf("%d: %s%s: %v, want %v", i, tt.host, tt.path, got, tt.want)
		}
	}
	for i := range 3 * loginHosts {
		l.last[weburl.HostKey{byte(i), byte(i >> 8), byte(i >> 16), 1}] = passwordPage{}
		if i%1000 == 0 {
			page := box("x")
			l.is(at("c"+strings.Repeat("x", i/1000)+".test", "/"), &page)
		}
	}
	if len(l.last) > loginHosts+1000 {
		t.Errorf("%d hosts are kept", len(l.last))
	}
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
