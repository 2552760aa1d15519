package crawl

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func schedule(t *testing.T, spec string) cron.Schedule {
	t.Helper()
	s, err := cron.ParseStandard(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNextRunOnTheDaysOfSummerTime: clocks in Berlin go from 2:00 to 3:00 on 29
// March 2026, and from 3:00 back to 2:00 on 25 October.
func TestNextRunOnTheDaysOfSummerTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		testneed.Missing(t, "no time zones: apt-get install tzdata: %v", err)
	}
	for _, tt := range []struct {
		spec, after string
		want        []string
	}{
		{"30 2 * * *", "2026-03-28T00:00:00+01:00", []string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"30 3 * * *", "2026-03-28T12:00:00+01:00", []string{"2026-03-29T03:30:00+02:00", "2026-03-30T03:30:00+02:00"}},
		{"0 2 * * 0", "2026-03-24T12:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-04-05T02:00:00+02:00"}},
		{"30 2 * * *", "2026-10-24T12:00:00+02:00", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"15 * * * *", "2026-10-25T01:00:00+02:00", []string{"2026-10-25T01:15:00+02:00", "2026-10-25T02:15:00+02:00", "2026-10-25T02:15:00+01:00", "2026-10-25T03:15:00+01:00"}},
		{"15 * * * *", "2026-03-29T01:00:00+01:00", []string{"2026-03-29T01:15:00+01:00", "2026-03-29T03:15:00+02:00"}},
		{"30 2 15 * *", "2026-10-01T00:00:00+02:00", []string{"2026-10-15T02:30:00+02:00", "2026-11-15T02:30:00+01:00"}},
		{"30 2 15 * *", "2026-03-16T00:00:00+01:00", []string{"2026-04-15T02:30:00+02:00"}},
		{"0 3 * * *", "2026-10-24T12:00:00+02:00", []string{"2026-10-25T03:00:00+01:00"}},
		{"0 0 31 2 *", "2026-01-01T00:00:00+01:00", []string{""}},
	} {
		s := schedule(t, "CRON_TZ=Europe/Berlin "+tt.spec)
		at, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			at = nextRun(s, at)
			got := ""
			if !at.IsZero() {
				got = at.In(berlin).Format(time.RFC3339)
			}
			if got != want {
				t.Errorf("%s after %s: %s, want %s", tt.spec, tt.after, got, want)
				break
			}
		}
	}
}

func TestDueRun(t *testing.T) {
	daily := schedule(t, "CRON_TZ=UTC 0 3 * * *")
	at := func(s string) time.Time {
		v, err := time.Parse("01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 0, 0)
	}
	for _, tt := range []struct {
		name    string
		last    lastRun
		now     string
		run     bool
		at, due string // what is stored, and the next time
	}{
		{"never seen before", lastRun{}, "03-10 12:00", false, "03-10 12:00", "03-11 03:00"},
		{"not yet", lastRun{At: at("03-10 12:00")}, "03-11 02:59", false, "03-10 12:00", "03-11 03:00"},
		{"now", lastRun{At: at("03-10 12:00")}, "03-11 03:00", true, "03-11 03:00", ""},
		{"several were missed: one is caught up", lastRun{At: at("03-10 12:00")}, "03-20 17:00", true, "03-20 17:00", ""},
		{"after that the next is the next", lastRun{At: at("03-20 17:00")}, "03-20 17:01", false, "03-20 17:00", "03-21 03:00"},
		{"broken off", lastRun{At: at("03-11 03:00"), Running: true}, "03-11 09:00", true, "03-11 03:00", ""},
		{"the clock was set forward", lastRun{At: at("03-10 12:00")}, "06-01 00:00", true, "06-01 00:00", ""},
		{"set back a little: not twice", lastRun{At: at("03-11 03:00")}, "03-11 02:30", false, "03-11 03:00", "03-12 03:00"},
		{"set back by far", lastRun{At: at("06-01 00:00")}, "03-12 12:00", false, "03-12 12:00", "03-13 03:00"},
	} {
		run, next := dueRun(daily, tt.last, at(tt.now))
		want := lastRun{At: at(tt.at), Running: tt.run}
		var wantNext time.Time
		if tt.due != "" {
			wantNext = at(tt.due)
		}
		if !run.At.Equal(want.At) || run.Running != want.Running || !next.Equal(wantNext) {
			t.Errorf("%s: %+v, next %s; want %+v, %s", tt.name, run, next, want, wantNext)
		}
	}
}

// waitingOf counts the URLs that wait, by source.
func waitingOf(t *testing.T, store scheduler.Store) map[scheduler.Source]int {
	t.Helper()
	n := map[scheduler.Source]int{}
	err := store.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		if r.State == scheduler.Waiting {
			n[r.Source]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSchedules: a schedule queues at its time what rests and what is timed, a
// missed one is caught up once at the start, one that broke off goes on, and a
// reload changes them.
func TestSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := teststore.New(t)
		seed(t, memory, 1000)
		s := everything()
		nightly := policy.Refresh{Schedule: schedule(t, "CRON_TZ=UTC 0 3 * * *"), Spec: "0 3 * * *"}
		s.Refreshes = []policy.Refresh{nightly}
		run := func(store scheduler.Store, s policy.Settings, during func(c *Crawl)) {
			t.Helper()
			c := newPassCrawl(t, s, store)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			schedules := c.retried("no refresh", scheduleStep, func(ctx context.Context) error { return c.runSchedules(ctx, func() {}) })
			go func() { ended <- schedules(ctx) }()
			synctest.Wait()
			during(c)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		before := waitingOf(t, memory)
		run(memory, s, func(*Crawl) {
			time.Sleep(3*time.Hour - time.Second)
			if diff := cmp.Diff(before, waitingOf(t, memory)); diff != "" {
				t.Errorf("before its time (-want +got):\n%s", diff)
			}
			time.Sleep(2 * time.Second)
			if n := waitingOf(t, memory)[scheduler.Index]; n != 900 || before[scheduler.IndexFollow] != 100 {
				t.Errorf("%d URLs wait in the index source, want all the others", n)
			}
		})

		// Missed while nothing ran; and what was visited after the begin of a run that
		// broke off is not queued again.
		memory = teststore.New(t)
		seed(t, memory, 1000)
		run(memory, s, func(*Crawl) {})
		time.Sleep(80 * time.Hour)
		broken := &storetest.Faulty{Store: memory, Before: func(_ context.Context, m string) error {
			if m == "Revise" {
				return context.DeadlineExceeded
			}
			return nil
		}}
		run(broken, s, func(*Crawl) {})
		if n := waitingOf(t, memory)[scheduler.Index]; n != 0 {
			t.Errorf("%d URLs wait though the store failed", n)
		}
		time.Sleep(time.Hour)
		run(memory, s, func(*Crawl) {
			if n := waitingOf(t, memory)[scheduler.Index]; n != 900 {
				t.Errorf("%d URLs wait at once, want the missed run caught up", n)
			}
		})
		runs, err := storedRuns(t.Context(), memory)
		if r := runs[nightly.Name()]; err != nil || r.Running || !r.At.Equal(time.Now().Add(-time.Hour)) {
			t.Errorf("stored: %+v, %v; want the run done as of its begin", runs, err)
		}

		// A reload: the old schedule is forgotten, the new one runs.
		memory = teststore.New(t)
		seed(t, memory, 1000)
		run(memory, s, func(c *Crawl) {
			changed := s
			changed.Frontier.SmartRefresh = true
			changed.Refreshes = []policy.Refresh{{Schedule: cron.Every(10 * time.Minute), Spec: "@every 10m"}}
			if err := c.Reload(t.Context(), changed); err != nil {
				t.Fatal(err)
			}
			time.Sleep(11 * time.Minute)
			if n := waitingOf(t, memory)[scheduler.Refresh]; n != 900 {
				t.Errorf("%d URLs wait in the refresh source, want 900 by the new schedule", n)
			}
		})
		if runs, err = storedRuns(t.Context(), memory); err != nil || len(runs) != 1 {
			t.Errorf("stored: %+v, %v; want the new schedule alone", runs, err)
		}
	})
}

// TestDrainedWaitsForMissedRuns: a crawl that runs once does what was missed, for
// the group's sites alone.
func TestDrainedWaitsForMissedRuns(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 6, Hosts: 2})
	b := newBench(t, site.Origins()[0]+"/", site.Origins()[1]+"/")
	b.settings.Rules.Roots[1].Group = "news"
	b.settings.Refreshes = []policy.Refresh{{Schedule: cron.Every(24 * time.Hour), Spec: "@every 24h", Group: "news"}}
	b.once()
	b.with(func(c *Crawl, store *store.Store) {
		missed := map[string]lastRun{b.settings.Refreshes[0].Name(): {At: time.Now().Add(-50 * time.Hour)}}
		if err := c.saveRuns(t.Context(), missed); err != nil {
			t.Fatal(err)
		}
	})
	before := len(site.Visits())
	b.once()
	asked := map[string]bool{}
	for _, v := range site.Visits()[before:] {
		asked["http://"+v.Host+v.Path] = true
	}
	for _, u := range b.indexed() {
		if got, want := asked[u], strings.HasPrefix(u, site.Origins()[1]); got != want {
			t.Errorf("%s: asked again %v, want %v", u, got, want)
		}
	}
	before = len(site.Visits())
	b.once()
	if n := len(site.Visits()) - before; n != 0 {
		t.Errorf("%d requests in the next run, want none: the refresh was caught up", n)
	}
}
