package crawl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// disallow makes a robots.txt that forbids path prefixes.
func disallow(prefixes ...string) testsite.Page {
	body := "User-agent: *\nDisallow: /private/\n"
	for _, p := range prefixes {
		body += "Disallow: " + p + "\n"
	}
	return testsite.Page{Body: body, ContentType: "text/plain"}
}

// ageRobots makes the stored copy of an origin's robots.txt too old.
func (b *bench) ageRobots(origin string) {
	b.t.Helper()
	u, err := weburl.Parse(origin)
	if err != nil {
		b.t.Fatal(err)
	}
	name := scheduler.HostValue(u.HostKey(), "robots")
	b.with(func(_ *Crawl, store *store.Store) {
		value, err := store.Value(b.t.Context(), name)
		fields := map[string]any{}
		if err == nil {
			err = json.Unmarshal(value, &fields)
		}
		if fields["fetched"] == nil {
			b.t.Fatalf("the stored robots.txt is %s", value)
		}
		fields["fetched"] = time.Now().Add(-48 * time.Hour)
		if value, e := json.Marshal(fields); err == nil && e == nil {
			err = store.SetValue(b.t.Context(), name, value)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	})
}

// TestStricterRobots: documents that robots.txt forbids from now on are deleted
// though their URLs are not due, and not asked for.
func TestStricterRobots(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 8, Hosts: 2})
	origin := site.Origins()[0]
	b := newBench(t, origin+"/", site.Origins()[1]+"/")
	b.once()
	all := b.indexed()
	b.newOrders()
	out := []string{origin + testsite.Path(3), origin + testsite.Path(5)}
	hits := site.Hits(testsite.Path(3))

	site.Set("/robots.txt", disallow(testsite.Path(3), testsite.Path(5)))
	b.ageRobots(origin)
	b.once(origin + testsite.Path(1))
	want := []string{"delete " + out[0] + ": " + policy.RobotsForbids, "delete " + out[1] + ": " + policy.RobotsForbids}
	if diff := cmp.Diff(want, b.newOrders()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(without(without(all, out[0]), out[1]), b.indexed()); diff != "" {
		t.Errorf("documents, of the other host too (-want +got):\n%s", diff)
	}
	if site.Hits(testsite.Path(3)) != hits {
		t.Error("a page that robots.txt forbids was asked for")
	}
	r, _ := b.record(out[0])
	if r.Class != "ignored" || r.Status != 0 || r.LastError != policy.RobotsForbids || r.Indexed || r.NextAt == nil {
		t.Errorf("%+v, want it ignored by robots.txt, and asked for again in time", r)
	}
	b.once(origin + testsite.Path(1))
	if got := b.newOrders(); len(got) != 0 {
		t.Errorf("another crawl gave orders %v", got)
	}
	site.Set("/robots.txt", disallow())
	b.ageRobots(origin)
	b.once(out...)
	if diff := cmp.Diff(all, b.indexed()); diff != "" {
		t.Errorf("allowed again, documents (-want +got):\n%s", diff)
	}
}

// TestRobotsThatFails: a robots.txt that cannot be had takes nothing out, nor does
// one that the operator ignores.
func TestRobotsThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		robots testsite.Page
		ignore bool
	}{
		"503":                 {testsite.Page{Status: 503}, false},
		"429":                 {testsite.Page{Status: 429}, false},
		"404":                 {testsite.Page{Status: 404}, false},
		"ignored by settings": {disallow("/"), true},
	} {
		t.Run(name, func(t *testing.T) {
			site := testsite.New(t, testsite.Options{Pages: 4})
			b := newBench(t, site.URL())
			b.once()
			all := b.indexed()
			b.settings.IgnoreRobots = c.ignore
			site.Set("/robots.txt", c.robots)
			b.ageRobots(site.Origins()[0])
			b.once(site.URL())
			for _, u := range all {
				if !slices.Contains(b.indexed(), u) {
					t.Errorf("%s is deleted", u)
				}
			}
			if site.Hits("/robots.txt") < 2 {
				t.Error("robots.txt was not asked for again")
			}
		})
	}
}

// TestRefreshIsHeldUp: whoever has a URL fetched again is told that it waits for its robots.txt.
func TestRefreshIsHeldUp(t *testing.T) {
	for status, want := range map[int]int{503: 1, 404: 0} {
		site := testsite.New(t, testsite.Options{Pages: 1})
		site.Set("/robots.txt", testsite.Page{Status: status})
		b := newBench(t, site.URL())
		b.once()
		b.with(func(c *Crawl, _ *store.Store) {
			done, err := c.Refresh(t.Context(), Selection{URLs: []string{site.URL()}})
			if err != nil || done.URLs+done.Waiting != 1 || done.HeldUp != want {
				t.Errorf("robots.txt answers %d: %+v, %v, want %d held up", status, done, err, want)
			}
		})
	}
}

// TestStricterRobotsPending: where robots.txt forbids all, the deletions are pending, and
// not ordered twice.
func TestStricterRobotsPending(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 12})
	b := newBench(t, site.URL())
	b.settings.Frontier.Deletions = scheduler.DefaultSettings().Deletions
	b.once()
	all := b.indexed()
	for run, forbids := range [][]string{{"/p/"}, {"/p/", "/other"}} {
		site.Set("/robots.txt", disallow(forbids...))
		b.ageRobots(site.Origins()[0])
		b.with(func(c *Crawl, _ *store.Store) {
			if _, err := c.Submit(t.Context(), []string{site.URL()}); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
				t.Fatal(err)
			}
			s, err := c.Status(t.Context())
			if err != nil || s.Robots == nil || s.Robots.Judged == 0 || s.Robots.Origins != 0 || (s.Robots.Excluded == 0) != (run == 1) {
				t.Errorf("run %d: status %+v (%v), want URLs excluded in the first run alone", run, s.Robots, err)
			}
		})
	}
	if gone := len(all) - len(b.indexed()); gone > 0 {
		t.Errorf("%d of %d documents are deleted, want all pending", gone, len(all))
	}
	pending := 0
	b.read(func(store *store.Store) {
		err := store.PendingDeletions(t.Context(), scheduler.DeletionFilter{Reason: scheduler.ReasonRobots}, func(scheduler.StoredDeletion) error { pending++; return nil })
		if err != nil {
			t.Fatal(err)
		}
	})
	if gone := len(all) - len(b.indexed()); pending+gone != len(all)-1 {
		t.Errorf("%d pending, %d of %d deleted: want all but the home page", pending, gone, len(all))
	}
}

// crashing is a store that ends the process, as it were, at the first revision.
type crashing struct {
	*store.Store
	crash context.CancelFunc
}

func (s crashing) Revise(ctx context.Context, _ []weburl.Key, _ func(weburl.Key, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	s.crash()
	return nil, 0, errors.New("crashed")
}

// TestStricterRobotsCrash: the next run does what the last one did not, though no
// URL of the host is due.
func TestStricterRobotsCrash(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 8})
	origin := site.Origins()[0]
	b := newBench(t, origin+"/")
	b.once()
	b.newOrders()
	site.Set("/robots.txt", disallow(testsite.Path(3)))
	b.ageRobots(origin)
	b.with(func(_ *Crawl, store *store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		relay, err := push.NewRelay(store.Outbox(), []push.TargetSettings{{Target: b.target}}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(ctx, b.settings, crashing{store, cancel}, relay, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Submit(ctx, []string{origin + testsite.Path(1)}); err != nil {
			t.Fatal(err)
		}
		_ = c.Run(ctx, Once{Drain: true})
		if ctx.Err() == nil {
			t.Fatal("nothing was revised")
		}
	})
	if got := b.newOrders(); len(got) != 0 {
		t.Fatalf("orders %v before the crash", got)
	}
	visits := len(site.Visits())
	b.once()
	if got := b.newOrders(); len(got) != 1 || !strings.HasPrefix(got[0], "delete "+origin+testsite.Path(3)) {
		t.Errorf("orders %v, want one deletion", got)
	}
	if n := len(site.Visits()) - visits; n > 1 { // the submitted page, if it was not completed
		t.Errorf("%d requests after the crash", n)
	}
}

// TestStricterRobotsInFlight: a page that is being fetched while robots.txt becomes
// stricter is taken out when it has been stored.
func TestStricterRobotsInFlight(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	var visits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			_, _ = fmt.Fprint(w, `<a href="/slow">x</a>`)
		case "/slow":
			n := visits.Add(1)
			if n == 2 {
				asked <- struct{}{}
				<-answer
			}
			_, _ = fmt.Fprintf(w, "visit %d", n)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	b := newBench(t, server.URL+"/")
	b.once()
	b.newOrders()
	slow := parse(t, server.URL+"/slow")
	b.with(func(c *Crawl, store *store.Store) {
		if _, err := c.Submit(t.Context(), []string{slow.String()}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- c.Run(t.Context(), Once{Drain: true}) }()
		<-asked
		cache := c.inForce().FetchState.Robots
		if err := cache.Record(t.Context(), slow, &fetcher.Response{Status: 200, Body: []byte("User-agent: *\nDisallow: /slow\n")}, nil); err != nil {
			t.Fatal(err)
		}
		c.reviewer.Restrict(slow)
		for b, err := []byte(nil), error(nil); !bytes.Contains(b, []byte(server.URL)); b, err = store.Value(t.Context(), scheduler.CrawlValue("crawl.robots")) {
			if err != nil {
				t.Fatal(err)
			}
			runtime.Gosched()
		}
		close(answer)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
	want := []string{"add " + slow.String(), "delete " + slow.String() + ": " + policy.RobotsForbids}
	got := b.newOrders()
	if len(got) == 1 { // the deletion took the unsent document's place
		got = append([]string{want[0]}, got...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

// TestPagesInFlightEnd: a wait for the pages in flight is not for later ones.
func TestPagesInFlightEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newInForce(&visit.Rules{Policy: &policy.Policy{}, FetchState: &visit.FetchState{}})
		page := f.begin()
		done := false
		go func() {
			done = f.AwaitPages(t.Context()) == nil
		}()
		synctest.Wait()
		defer f.end(f.begin())
		if done {
			t.Error("a page is in flight still")
		}
		f.end(page)
		synctest.Wait()
		if !done {
			t.Error("the pages that were in flight have ended")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.AwaitPages(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}
