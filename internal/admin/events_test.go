package admin

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// TestWatcher: what differs between two statuses is told once, and who asked for a reload.
func TestWatcher(t *testing.T) {
	c := fakeCrawler{name: "a", store: teststore.New(t)}
	s := NewServer([]Crawler{c}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	s.Tell(About{Version: "2"})
	ctx := t.Context()
	if err := c.Note(ctx, events.Event{At: time.Unix(1, 0), Kind: events.Start, Version: "1"}); err != nil {
		t.Fatal(err)
	}
	loaded := time.Unix(1e9, 0)
	status := &Status{Status: crawl.Status{Crawler: "a", Rules: &crawl.RulesStatus{Version: "x"}, Targets: []crawl.TargetStatus{{Name: "papi"}}}, ConfigLoadedAt: &loaded}
	s.watcher.begin(ctx)
	s.watcher.see(ctx, c, status)
	s.watcher.see(ctx, c, status)
	later, down := loaded.Add(time.Minute), time.Unix(1e9, 0)
	s.watcher.changed(&call{caller: Caller{Role: Operator, Name: "ann"}, change: "reload", r: mustRequest(t)})
	changed := *status
	changed.ConfigLoadedAt = &later
	changed.Rules = &crawl.RulesStatus{Version: "y", Running: true}
	changed.Targets = []crawl.TargetStatus{{Name: "papi", DownSince: &down, LastError: "refused"}}
	s.watcher.see(ctx, c, &changed)
	done := changed
	done.Rules = &crawl.RulesStatus{Version: "y", Excluded: 3}
	done.Targets = status.Targets
	s.watcher.see(ctx, c, &done)
	done.ConfigError = "line 3"
	s.watcher.see(ctx, c, &done)
	s.watcher.end(ctx)
	var got []string
	all, err := events.List(ctx, c.store)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		got = append(got, strings.TrimSpace(e.Kind+" "+e.Text+" "+strings.Fields(e.Who + " -")[0]))
	}
	want := []string{
		"stop  -", "reload refused line 3 -", "indexer up papi -", "edit version y, 3 excluded -", "indexer down papi: refused -",
		"reload the configuration operator", "start version 2 -", "upgrade from 1 to 2 -", "start  -",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEditsBetweenRuns: rules that changed while no service ran are an event of the next run, once all stored URLs are
// judged by them, however short that run is.
func TestEditsBetweenRuns(t *testing.T) {
	c := fakeCrawler{name: "a", store: teststore.New(t)}
	if err := c.Note(t.Context(), events.Event{Kind: events.Start, Rules: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"x", "y", "y", "z"} {
		s := NewServer([]Crawler{c}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
		s.watcher.begin(t.Context())
		running := version == "z"
		s.watcher.see(t.Context(), c, &Status{Status: crawl.Status{Crawler: "a", Rules: &crawl.RulesStatus{Version: version, Running: running, Excluded: 3}}})
	}
	all, err := events.List(t.Context(), c.store)
	all = slices.DeleteFunc(all, func(e events.Event) bool { return e.Kind != events.Edit })
	if err != nil || len(all) != 1 || all[0].Text != "version y, 3 excluded" || all[0].Rules != "y" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestGoneHosts: a host is told of as gone when its documents have left because it was silent for so long, and not
// while they leave, nor if they left before.
func TestGoneHosts(t *testing.T) {
	c := fakeCrawler{name: "a", store: teststore.New(t)}
	s := NewServer([]Crawler{c}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	since, over, later := time.Unix(1e9, 0), time.Unix(1e9+60, 0), time.Now().Add(time.Hour)
	gone := LosingHost{Host: "http://gone.test", Pending: 1200, SilentSince: &since, GoneAt: &over}
	leaving := gone
	leaving.Pending = 200
	released := LosingHost{Host: "http://released.test", Pending: 3, SilentSince: &since, GoneAt: &later}
	for _, losing := range [][]LosingHost{{gone, released}, {leaving}, nil} {
		s.watcher.see(t.Context(), c, &Status{Status: crawl.Status{Crawler: "a"}, Losing: losing, LosingHosts: len(losing)})
	}
	all, err := events.List(t.Context(), c.store)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	want := events.Event{Number: all[0].Number, At: all[0].At, Kind: events.Gone, Host: gone.Host, Text: "no good response since 2001-09-09T01:46:40Z: 1,200 documents deleted"}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func mustRequest(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRoundsAreEvents: a round of discovery or a schedule is an event when no URL waits; frequent rounds are recorded
// together, once an hour.
func TestRoundsAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakeCrawler{name: "a", store: teststore.New(t), round: new(time.Time)}
		s := NewServer([]Crawler{c}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
		var told []string
		s.Tell(About{Round: func(_, words string) { told = append(told, words) }})
		status := Status{Status: crawl.Status{Crawler: "a", Pending: map[string]uint64{}}, Store: &StoreStatus{}}
		see := func(waiting, added uint64) {
			time.Sleep(time.Minute)
			status.Pending["index"] = waiting
			status.Store.DocumentsAdded += added
			s.watcher.see(t.Context(), c, &status)
		}
		see(0, 5) // before any round
		*c.round = time.Now()
		see(3, 0)
		see(1, 1200)
		see(0, 3)
		status.Schedules = []crawl.Schedule{{Spec: "@daily", Group: "news", Next: time.Now().Add(90 * time.Second)}}
		see(0, 1)
		status.Schedules[0].Next = status.Schedules[0].Next.Add(24 * time.Hour)
		see(0, 0)
		see(4, 0)
		*c.round = time.Now()
		see(2, 0)
		see(0, 7)
		time.Sleep(time.Hour)
		see(0, 9)
		all, err := events.List(t.Context(), c.store)
		want := []string{"discovery: 1,203 added, 0 changed, 0 gone, 0 failed, 2m0s", "schedule @daily, group news and 1 more: 7 added, 0 changed, 0 gone, 0 failed, 3m0s"}
		if diff := cmp.Diff(want, told); diff != "" || err != nil || len(all) != 2 || all[1].Made.Added != 1203 || all[0].Text != want[1] {
			t.Errorf("%s%+v, %v", diff, all, err)
		}
	})
}

// TestReleasedByWord: what --yes carries out is an event, once; what is few leaves without one.
func TestReleasedByWord(t *testing.T) {
	c := fakeCrawler{name: "a", store: teststore.New(t)}
	s := NewServer([]Crawler{c}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	see := func(edits ...deletion.Edit) {
		status := &Status{Status: crawl.Status{Crawler: "a"}}
		if err := status.AddDeletions(t.Context(), c.store, &PendingTally{}, &Losses{edits: edits}); err != nil {
			t.Fatal(err)
		}
		s.watcher.see(t.Context(), c, status)
	}
	see(deletion.Edit{Number: 7, Sent: 1}, deletion.Edit{Number: 8, Word: true, Sent: 2})
	for range 2 {
		see(deletion.Edit{Number: 7, Sent: 2}, deletion.Edit{Number: 8, Word: true, Sent: 412})
	}
	all, err := events.List(t.Context(), c.store)
	if err != nil || len(all) != 1 || all[0].Edit != 8 || all[0].Text != "deletions or moves off a target released by --yes: 410" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestReadPagesDidNotFail: the failed visits of a round are those without a page.
func TestReadPagesDidNotFail(t *testing.T) {
	s := Status{Status: crawl.Status{Errors: map[string]uint64{"4xx": 1, "bot_wall": 2, "no_field": 4, "robots": 8}}}
	if n := s.Made().Failed; n != 3 {
		t.Errorf("%d visits failed, want 3", n)
	}
}
