package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// seed stores n URLs as if they had been crawled, half of them timed; every tenth waits.
func seed(t testing.TB, store scheduler.Store, n int) {
	t.Helper()
	ctx := context.Background()
	var links []scheduler.Link
	for i := range n {
		links = append(links, scheduler.Link{URL: parse(t, fmt.Sprintf("http://h%d.test/dir%d/page-%d.html?id=%d", i%100, i%37, i, i)), Fifo: scheduler.IndexFollow, Referrer: "http://from.test/"})
	}
	places, _, err := store.Add(ctx, links, false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	next := make(chan scheduler.Place)
	for range 16 {
		go func() {
			for p := range next {
				done <- seedPlace(ctx, store, p)
			}
		}()
	}
	go func() {
		for _, p := range places {
			next <- p
		}
		close(next)
	}()
	for range places {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func seedPlace(ctx context.Context, store scheduler.Store, p scheduler.Place) error {
	urls, err := store.Queue(ctx, p, 0, 1<<20)
	if err != nil {
		return err
	}
	for i, w := range urls {
		if i%10 == 9 {
			continue
		}
		c := scheduler.Completion{Key: w.Key, Taken: p, Seq: w.Seq, Next: w.Record}
		c.Next.State, c.Next.Class, c.Next.Status, c.Next.Settled = scheduler.AtRest, scheduler.OK, 200, true
		c.Next.Indexed, c.Next.FetchedAt, c.Next.ETag = true, time.Now(), `"0123456789abcdef"`
		if i%2 == 0 {
			c.Next.State, c.Next.NextAt = scheduler.Timed, time.Now().Add(time.Hour*24)
		}
		if _, err := scheduler.CompleteAndWait(ctx, store, c); err != nil {
			return err
		}
	}
	return nil
}

// newPassCrawl is a crawl that only judges.
func newPassCrawl(t testing.TB, s policy.Settings, store scheduler.Store) *Crawl {
	t.Helper()
	c, err := New(context.Background(), s, memoryStore{store}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What package review reads at once, and how often it stores how far it is.
const (
	reviewBatch = 1000
	reviewSaved = time.Second
)

func everything() policy.Settings {
	s := policy.Settings{Frontier: scheduler.DefaultSettings()}
	s.Frontier.Deletions.Off = true
	s.Rules.DefaultAccept, s.Rules.DefaultIndex, s.Rules.DefaultFollow = true, true, true
	return s
}

// statuses counts the stored URLs by status.
func statuses(t *testing.T, store scheduler.Store) map[int]int {
	t.Helper()
	n := map[int]int{}
	err := store.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error { n[r.Status]++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPassGoesOnAfterCrash ends the pass at each of its steps, as a crash would,
// also with the answer of a write lost: the next run goes on, and in the end each
// URL is judged and has one deletion.
func TestPassGoesOnAfterCrash(t *testing.T) {
	const urls = 6 * reviewBatch
	crash := errors.New("crash")
	for _, method := range []string{"Revise", "SetValue", "Inspect"} {
		for _, after := range []bool{false, true} {
			if method == "Inspect" && after {
				continue // changes nothing
			}
			synctest.Test(t, func(t *testing.T) {
				memory := teststore.New(t)
				seed(t, memory, urls)
				s := everything()
				s.Space.Exclude = text("7.html")
				var excludedURLs, runs int
				for done := false; !done; runs++ {
					ctx, cancel := context.WithCancel(t.Context())
					faulty := &storetest.Faulty{Store: memory}
					left := 2
					switch method {
					case "Inspect":
						left = 3 // the second batch is read before the first is stored
					case "SetValue":
						left = 3 // the edit and the pass begin, before anything is judged
					}
					hook := func(_ context.Context, m string) error {
						if m != method {
							return nil
						}
						if left--; left > 0 {
							return nil
						}
						cancel()
						return crash
					}
					if after {
						faulty.After = hook
					} else {
						faulty.Before = hook
					}
					c := newPassCrawl(t, s, faulty)
					if err := c.start(ctx, false); err == nil {
						go func() {
							if c.reviewer.Await(ctx) == nil {
								cancel()
							}
						}()
						if err := c.retried("no review", retryPause, c.reviewer.Run)(ctx); err != nil {
							t.Error(err)
						}
						state := c.reviewer.Progress()
						done = state.Done
					}
					cancel()
					synctest.Wait()
					memory = memory.Reopen()
					time.Sleep(2 * reviewSaved) // so that the next run stores where it is
					if runs > 50 {
						t.Fatalf("%s, after %v: the pass does not end", method, after)
					}
				}
				n := statuses(t, memory)
				excludedURLs = n[policy.StatusExcluded]
				counts, err := memory.Counts(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if want := wantExcluded(t, memory); excludedURLs != want || counts.Outbox.Waiting != uint64(want) || want < urls/20 {
					t.Errorf("%s, after %v: %d excluded and %d deletions after %d runs, want %d", method, after, excludedURLs, counts.Outbox.Waiting, runs, want)
				}
			})
		}
	}
}

// wantExcluded counts the URLs that do not wait and that the test's rule excludes.
func wantExcluded(t *testing.T, store scheduler.Store) int {
	t.Helper()
	n := 0
	err := store.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		if r.State != scheduler.Waiting && strings.Contains(r.URL, "7.html") {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPassBeginsAnewWithOtherRules: rules that change in the middle of a pass, or
// back to what they were before it, begin another one.
func TestPassBeginsAnewWithOtherRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := teststore.New(t)
		seed(t, store, 3*reviewBatch)
		judge := func(s policy.Settings, batches int) {
			t.Helper()
			s.Frontier.MinimumAged = 24 * time.Hour // or pages are read again where rules let more in
			c := newPassCrawl(t, s, store)
			if err := c.start(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			p := c.policy()
			for range batches {
				time.Sleep(2 * reviewSaved)
				if due, err := c.reviewer.Next(t.Context(), p); err != nil {
					t.Fatal(err)
				} else if !due {
					return
				}
			}
		}
		judge(everything(), 10)
		narrow := everything()
		narrow.Space.Exclude = text("page")
		judge(narrow, 1)
		if n := statuses(t, store)[policy.StatusExcluded]; n == 0 || n > reviewBatch {
			t.Fatalf("%d excluded after one batch", n)
		}
		judge(everything(), 10) // back again: what was excluded is readmitted
		if n := statuses(t, store); n[policy.StatusExcluded] != 0 {
			t.Errorf("statuses %v, want none excluded", n)
		}
		judge(narrow, 10)
		if n := statuses(t, store); n[200] != 0 {
			t.Errorf("statuses %v, want all that do not wait excluded", n)
		}
	})
}

// TestReloadInTheMiddleOfAPass: the pass begins anew, at the first URL.
func TestReloadInTheMiddleOfAPass(t *testing.T) {
	store := teststore.New(t)
	seed(t, store, 3*reviewBatch)
	c := newPassCrawl(t, everything(), store)
	if err := c.start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	batch := func() bool {
		due, err := c.reviewer.Next(t.Context(), c.policy())
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	batch()
	batch()
	narrow := everything()
	narrow.Space.Exclude = text("page")
	if err := c.Reload(t.Context(), narrow); err != nil {
		t.Fatal(err)
	}
	for batch() {
	}
	if n := statuses(t, store); n[200] != 0 || n[policy.StatusExcluded] == 0 {
		t.Errorf("statuses %v, want all that do not wait excluded", n)
	}
}

// TestRulesOfBeforeChangeNothing: what a batch was judged by is not applied once other rules are in force, by which
// pages may have been fetched meanwhile.
func TestRulesOfBeforeChangeNothing(t *testing.T) {
	memory := teststore.New(t)
	seed(t, memory, 200)
	faulty := &storetest.Faulty{Store: memory}
	narrow := everything()
	narrow.Space.Exclude = text("page")
	c := newPassCrawl(t, narrow, faulty)
	if err := c.start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	faulty.Before = func(ctx context.Context, method string) error {
		if method != "Revise" {
			return nil
		}
		faulty.Before = nil
		return c.Reload(ctx, everything())
	}
	if _, err := c.reviewer.Next(t.Context(), c.policy()); err != nil {
		t.Fatal(err)
	}
	if n := statuses(t, memory); n[policy.StatusExcluded] != 0 || faulty.Before != nil {
		t.Errorf("statuses %v, want none excluded by rules that are not in force", n)
	}
}

// TestPendingDeletionsAreCancelled: when the rules let URLs in again, or another
// crawler has them, the deletions that are pending are dropped.
func TestPendingDeletionsAreCancelled(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 8})
	for _, toElsewhere := range []bool{false, true} {
		b := newBench(t, site.URL())
		b.settings.Frontier.Deletions = scheduler.DefaultSettings().Deletions
		pending := func() uint64 {
			var n uint64
			b.with(func(c *Crawl, _ *store.Store) {
				s, err := c.Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				n = s.Outbox.Pending
			})
			return n
		}
		b.once()
		all := len(b.indexed())
		b.settings.Space.CrawlRules = file("crawl.rules", "forbid domain *")
		b.once()
		if got := pending(); got != uint64(all) || len(b.indexed()) != all {
			t.Fatalf("%d deletions pending and %d documents left, want all of %d pending", got, len(b.indexed()), all)
		}
		if toElsewhere {
			b.settings.Space.GlobalRules = file("global.rules", "allow domain *")
		} else {
			b.settings.Space.CrawlRules = nil
		}
		b.once()
		if got := pending(); got != 0 {
			t.Errorf("elsewhere %v: %d deletions are still pending", toElsewhere, got)
		}
		if len(b.indexed()) != all {
			t.Errorf("elsewhere %v: %d of %d documents", toElsewhere, len(b.indexed()), all)
		}
	}
}

// TestReadmissionDropsPendingDeletionAtOnce: not only when the page was fetched again.
func TestReadmissionDropsPendingDeletionAtOnce(t *testing.T) {
	store := teststore.New(t)
	seed(t, store, 100)
	all := func(s policy.Settings) scheduler.Counts {
		s.Frontier.Deletions = scheduler.DefaultSettings().Deletions
		c := newPassCrawl(t, s, store)
		if err := c.start(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if _, err := c.reviewer.Next(t.Context(), c.policy()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.deletions.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		n, err := store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	narrow := everything()
	narrow.Space.Exclude = text("page")
	if n := all(narrow); n.Outbox.Pending == 0 {
		t.Fatalf("%+v, want deletions pending", n)
	}
	if n := all(everything()); n.Outbox.Pending != 0 {
		t.Errorf("%+v, want no deletion pending", n)
	}
}

// TestRejectListIsReadAgain: a changed list is in force at once, one that cannot be
// read changes nothing.
func TestRejectListIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := teststore.New(t)
		seed(t, store, 50)
		s := everything()
		s.Space.RejectList = file("reject.patterns", "nothing-so-far")
		var list atomic.Pointer[crawlspace.File] // nil: it cannot be read
		list.Store(file("reject.patterns", "nothing-so-far"))
		s.ReadRejectList = func() (*crawlspace.File, error) {
			if f := list.Load(); f != nil {
				return f, nil
			}
			return nil, errors.New("no such file")
		}
		c := newPassCrawl(t, s, store)
		ctx, cancel := context.WithCancel(t.Context())
		if err := c.start(ctx, false); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		go func() { ended <- c.watchRejectList(ctx) }()
		go func() { ended <- c.reviewer.Run(ctx) }()
		if err := c.reviewer.Await(ctx); err != nil {
			t.Fatal(err)
		}
		first := c.policy()
		time.Sleep(3 * time.Minute)
		if c.policy() != first {
			t.Error("a list that did not change is put in force again")
		}
		list.Store(nil)
		time.Sleep(2 * time.Minute)
		if c.policy() != first {
			t.Error("a list that cannot be read is in force")
		}
		list.Store(file("reject.patterns", "7.html"))
		time.Sleep(rejectListEvery + time.Second)
		synctest.Wait()
		if n := statuses(t, store); n[policy.StatusExcluded] != wantExcluded(t, store) || n[policy.StatusExcluded] == 0 {
			t.Errorf("statuses %v, want what the new list rejects excluded", n)
		}
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
