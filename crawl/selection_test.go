package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

func path(p string) actionrules.Condition {
	return actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: p}
}

// refreshed refreshes a selection and crawls until nothing is left.
func (b *bench) refreshed(s Selection) {
	b.t.Helper()
	b.with(func(c *Crawl, _ *store.Store) {
		if _, err := c.Refresh(b.t.Context(), s); err != nil {
			b.t.Fatal(err)
		}
	})
	b.once()
}

func TestRefreshBySelection(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 6, Hosts: 2})
	one, two := site.Origins()[0], site.Origins()[1]
	b := newBench(t, one+"/", two+"/")
	b.settings.Rules.Roots[1].Group = "news"
	b.settings.Rules.Rules = []actionrules.Rule{{If: path(testsite.Path(3)), Then: []actionrules.Action{{Verb: actionrules.SetSource, Name: "shop"}}}}
	b.once()
	var ofTwo []string
	for _, u := range b.indexed() {
		if strings.HasPrefix(u, two) {
			ofTwo = append(ofTwo, u)
		}
	}
	for _, tt := range []struct {
		name      string
		selection Selection
		want      []string // documents that are asked for again
	}{
		{"URLs", Selection{URLs: []string{one + testsite.Path(1), one + testsite.Path(1) + "#x"}}, []string{one + testsite.Path(1)}},
		{"group", Selection{Group: "news"}, ofTwo},
		{"source", Selection{Source: "shop"}, []string{one + testsite.Path(3), two + testsite.Path(3)}},
		{"condition", Selection{If: path(testsite.Path(4))}, []string{one + testsite.Path(4), two + testsite.Path(4)}},
		{"all that are set", Selection{Group: "news", Source: "shop"}, []string{two + testsite.Path(3)}},
		{"all", Selection{All: true}, b.indexed()},
	} {
		b.newOrders()
		before := len(site.Visits())
		b.refreshed(tt.selection)
		var asked []string
		for _, v := range site.Visits()[before:] {
			if u := "http://" + v.Host + v.Path; slices.Contains(b.indexed(), u) {
				asked = append(asked, u)
			}
		}
		slices.Sort(asked)
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got := b.newOrders(); len(got) != 0 {
			t.Errorf("%s: unchanged documents gave orders %v", tt.name, got)
		}
	}
}

// TestFullRefresh: documents are fetched whole and pushed again though they did
// not change, also if the process ends in between; after that they are as before.
func TestFullRefresh(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 5})
	b := newBench(t, site.URL())
	b.once()
	b.newOrders()
	b.refreshed(Selection{All: true, Full: true}) // in two runs
	var want []string
	for _, u := range site.Documents() {
		want = append(want, "add "+u)
	}
	if diff := cmp.Diff(want, b.newOrders()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if got := lastStatus(site, testsite.Path(2)); got != http.StatusOK {
		t.Errorf("answered %d, want a whole answer", got)
	}
	b.refreshed(Selection{All: true})
	if got := b.newOrders(); len(got) != 0 || lastStatus(site, testsite.Path(2)) != http.StatusNotModified {
		t.Errorf("the refresh after it gave orders %v, answer %d", got, lastStatus(site, testsite.Path(2)))
	}
}

func TestSelectionErrors(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 3})
	b := newBench(t, site.URL())
	b.once()
	b.with(func(c *Crawl, store *store.Store) {
		known, missing := site.Origins()[0]+testsite.Path(1), site.Origins()[0]+"/nowhere"
		for _, tt := range []struct {
			s    Selection
			want string
		}{
			{Selection{}, "no URLs are selected"},
			{Selection{Full: true}, "no URLs are selected"},
			{Selection{URLs: []string{known, missing}}, missing},
			{Selection{URLs: []string{known, missing}}, ", use add"},
			{Selection{URLs: []string{"nonsense"}}, "nonsense"},
			{Selection{Group: "nobody"}, `"nobody"`},
			{Selection{If: actionrules.And{}}, "And is empty"},
		} {
			_, err := c.Refresh(t.Context(), tt.s)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("refresh %+v: %v, want %q", tt.s, err, tt.want)
			}
			_, err = c.Remove(t.Context(), tt.s)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("remove %+v: %v, want %q", tt.s, err, tt.want)
			}
		}
		if n := waitingOf(t, store); len(n) != 0 {
			t.Errorf("%v wait after errors", n)
		}
	})
}

func TestRemove(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 6})
	origin := site.Origins()[0]
	b := newBench(t, site.URL())
	b.settings.Frontier.Deletions = scheduler.DefaultSettings().Deletions
	b.once()
	b.newOrders()
	b.with(func(c *Crawl, _ *store.Store) {
		if _, err := c.Remove(t.Context(), Selection{URLs: []string{origin + "/", origin + testsite.Path(5)}}); err == nil || !strings.Contains(err.Error(), origin+"/;") {
			t.Errorf("removing a root: %v, want an error that names it", err)
		}
		done, err := c.Remove(t.Context(), Selection{URLs: []string{origin + testsite.Path(5), origin + "/missing.html"}})
		if diff := cmp.Diff(Removed{URLs: 2, Deletions: 1}, done); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
	b.once()
	want := []string{"delete " + origin + testsite.Path(5) + ": " + removalReason}
	if diff := cmp.Diff(want, b.newOrders()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	if _, ok := b.record(origin + testsite.Path(5)); ok {
		t.Error("the URL is still known")
	}
	b.with(func(c *Crawl, _ *store.Store) {
		done, err := c.Remove(t.Context(), Selection{All: true})
		if err != nil || done.Deletions != 4 || !slices.Equal(done.Roots, []string{origin + "/"}) {
			t.Errorf("%+v, %v; want 4 deletions and the root left", done, err)
		}
	})
	b.once() // also verifies the store
	if diff := cmp.Diff([]string{origin + "/"}, b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestSelectionRunsInBatches: a selection over more than one batch finds each URL
// once, keeps the store's order, ends where its context does, and leaves the
// excluded ones alone.
func TestSelectionRunsInBatches(t *testing.T) {
	const urls = 3*scheduler.WalkBatch + 500
	store := teststore.New(t)
	seed(t, store, urls)
	waits := waitingOf(t, store)[scheduler.IndexFollow]
	s := everything()
	ctx, cancel := context.WithCancel(t.Context())
	revisions := 0
	faulty := &storetest.Faulty{Store: store, Before: func(_ context.Context, m string) error {
		if m == "Revise" {
			if revisions++; revisions == 2 {
				cancel()
			}
		}
		return nil
	}}
	c := newPassCrawl(t, s, faulty)
	first, err := c.Refresh(ctx, Selection{All: true})
	if !errors.Is(err, context.Canceled) || first.URLs+first.Waiting != 2*scheduler.WalkBatch {
		t.Fatalf("%+v, %v; want two batches and the context's error", first, err)
	}
	second, err := c.Refresh(t.Context(), Selection{All: true})
	if err != nil || first.URLs+second.URLs != urls-waits || second.URLs+second.Waiting != urls {
		t.Errorf("%+v and %+v, %v; want each URL queued once", first, second, err)
	}
}

func TestRefreshLeavesExcludedAlone(t *testing.T) {
	store := teststore.New(t)
	seed(t, store, 100)
	narrow := everything()
	narrow.Space.Exclude = text("7.html")
	c := newPassCrawl(t, narrow, store)
	if err := c.start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.reviewer.Next(t.Context(), c.policy()); err != nil {
		t.Fatal(err)
	}
	done, err := RefreshStored(t.Context(), narrow, store, Selection{All: true}, c.log)
	if err != nil || done.Excluded != wantExcluded(t, store) || done.Excluded == 0 || done.Excluded+done.URLs != 100 {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestRemoveInFlight: a page that is removed while it is fetched leaves nothing behind.
func TestRemoveInFlight(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 2})
	url := site.Origins()[0] + testsite.Path(1)
	b := newBench(t, site.URL())
	b.once()
	b.newOrders()
	page := testsite.HTML("changed", "changed")
	removed := make(chan struct{})
	page.Hold = removed
	site.Set(testsite.Path(1), page)
	hits := site.Hits(testsite.Path(1))
	b.with(func(c *Crawl, _ *store.Store) {
		if _, err := c.Refresh(t.Context(), Selection{URLs: []string{url}}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), Once{Drain: true}) }()
		for c.frontier.Snapshot().InFlight == 0 {
			time.Sleep(time.Millisecond)
		}
		if done, err := c.Remove(t.Context(), Selection{URLs: []string{url}}); err != nil || done.Deletions != 1 {
			t.Errorf("%+v, %v", done, err)
		}
		close(removed)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	b.verify()
	if _, ok := b.record(url); ok || site.Hits(testsite.Path(1)) != hits+1 {
		t.Errorf("known %v after %d requests", ok, site.Hits(testsite.Path(1))-hits)
	}
	if diff := cmp.Diff([]string{fmt.Sprintf("delete %s: %s", url, removalReason)}, b.newOrders()); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}
