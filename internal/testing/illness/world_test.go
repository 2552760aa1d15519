package illness

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
)

func TestMain(m *testing.M) {
	// Package net keeps a channel for all that look names up: it must belong to no bubble.
	resolver := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, net.ErrClosed
	}}
	_, _ = resolver.LookupHost(context.Background(), Host)
	goleak.VerifyTestMain(m)
}

// world is sites, their crawl, and the index that the crawl fills. It lives in a bubble of
// virtual time.
type world struct {
	t        *testing.T
	disk     memkv.Engine
	site     *Site // the first one
	sites    []*Site
	network  *Network
	index    *index
	settings policy.Settings
	log      *slog.Logger

	store *store.Store // nil while nothing runs
	crawl *crawl.Crawl
	ended chan error // of the crawl that runs
}

// newWorld returns a world of one site, in which nothing runs yet. change, which may be nil, is
// of the settings.
func newWorld(t *testing.T, o Options, change func(*policy.Settings)) *world {
	t.Helper()
	return newWorldOf(t, change, New(o))
}

// newWorldOf has several sites.
func newWorldOf(t *testing.T, change func(*policy.Settings), sites ...*Site) *world {
	t.Helper()
	w := &world{t: t, site: sites[0], sites: sites, index: &index{}}
	w.log = slog.New(slog.DiscardHandler)
	if os.Getenv("SEXTANT_ILLNESS_LOG") != "" {
		w.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	var err error
	if w.network, err = NewNetwork(sites...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.abandon()
		if err := w.network.Close(); err != nil {
			t.Error(err)
		}
	})
	var roots []string
	for _, site := range sites {
		roots = append(roots, site.URL(0))
	}
	w.settings = settings(t, w.network, roots...)
	if change != nil {
		change(&w.settings)
	}
	return w
}

// crawled returns a world of one site with so many pages, crawled by the service some time before it falls ill, and
// what is in the index then. change is as in newWorld.
func crawled(t *testing.T, change func(*policy.Settings), pages int) (*world, documents) {
	t.Helper()
	return crawledOf(t, change, New(Options{Documents: pages, Answer: answerTime}))
}

// crawledOf has several sites.
func crawledOf(t *testing.T, change func(*policy.Settings), sites ...*Site) (*world, documents) {
	t.Helper()
	w := newWorldOf(t, change, sites...)
	docs := w.healthy()
	time.Sleep(beforeIllness)
	return w, docs
}

// inBubble runs a test beside others, in a bubble of virtual time of its own.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

// open opens the store, and makes a crawl that does not run yet.
func (w *world) open() {
	w.t.Helper()
	w.store = teststore.Open(w.t, &w.disk).Store
	relay, err := push.NewRelay(w.store.Outbox(), []push.TargetSettings{{Target: w.index}}, w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.crawl, err = crawl.New(w.t.Context(), w.settings, w.store, relay, w.log); err != nil {
		w.t.Fatal(err)
	}
}

// begin has the service run.
func (w *world) begin() {
	w.t.Helper()
	w.open()
	w.ended = make(chan error, 1)
	go func() { w.ended <- w.crawl.Run(w.t.Context(), crawl.Once{}) }()
}

// end stops the service, and looks through its store.
func (w *world) end() {
	w.t.Helper()
	w.crawl.Stop()
	if err := <-w.ended; err != nil && !errors.Is(err, context.Canceled) {
		w.t.Error(err)
	}
	w.ended = nil
	w.close()
}

// abandon ends what a test that failed has left: a bubble must have an end.
func (w *world) abandon() {
	if w.store == nil {
		return
	}
	if w.ended != nil {
		w.crawl.Stop()
		if err := <-w.ended; err != nil {
			w.t.Log(err)
		}
	}
	if err := w.store.Close(); err != nil {
		w.t.Log(err)
	}
}

func (w *world) close() {
	w.t.Helper()
	if _, err := w.store.Verify(w.t.Context(), func(f store.Fault) { w.t.Errorf("verify: %+v", f) }); err != nil {
		w.t.Error(err)
	}
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
	w.store, w.crawl = nil, nil
}

// once is one `sextant run --once`.
func (w *world) once() {
	w.t.Helper()
	w.open()
	if err := w.crawl.Run(w.t.Context(), crawl.Once{Drain: true}); err != nil {
		w.t.Error(err)
	}
	w.close()
}

// refresh is the operator's command.
func (w *world) refresh(s crawl.Selection) {
	w.t.Helper()
	if _, err := w.crawl.Refresh(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) status() crawl.Status {
	w.t.Helper()
	s, err := w.crawl.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// quiet waits until nothing is to be fetched or pushed now.
func (w *world) quiet() {
	w.t.Helper()
	for begin := time.Now(); ; {
		time.Sleep(5 * time.Second)
		s := w.status()
		n := uint64(s.InFlight) + s.Outbox.Waiting
		for _, waiting := range s.Pending {
			n += waiting
		}
		if n == 0 {
			return
		}
		if time.Since(begin) > 24*time.Hour {
			w.t.Fatalf("the crawl does not come to rest: %+v", s)
		}
	}
}

// healthy has the service crawl the whole site and gives what is in the index then.
func (w *world) healthy() documents {
	w.t.Helper()
	w.begin()
	w.quiet()
	return w.complete()
}

// complete returns the index, which must hold every page of the sites.
func (w *world) complete() documents {
	w.t.Helper()
	docs, pages := w.index.at(time.Now()), 0
	for _, site := range w.sites {
		pages += site.Len()
		for i := range site.Len() {
			if _, ok := docs[site.URL(i)]; !ok {
				w.t.Fatalf("the crawl of the healthy site has %d documents; %s is missing", len(docs), site.URL(i))
			}
		}
	}
	if len(docs) != pages {
		w.t.Fatalf("the crawl of the healthy site has %d documents of %d", len(docs), pages)
	}
	return docs
}

// ill returns how many hosts are ill.
func (w *world) ill() int { return len(w.crawl.Ill()) }

// wantNeverIll lets time go by, in which no host may fall ill.
func (w *world) wantNeverIll(span time.Duration) {
	w.t.Helper()
	for begin := time.Now(); time.Since(begin) < span; time.Sleep(time.Minute) {
		if n := w.ill(); n > 0 {
			w.t.Errorf("%d hosts are ill after %s: %v", n, time.Since(begin), w.crawl.Ill())
			time.Sleep(span - time.Since(begin))
			return
		}
	}
}

// wantNothingUndone wants no deletion to be pending.
func (w *world) wantNothingUndone() {
	w.t.Helper()
	w.wantUndone(0)
}

// wantUndone wants at most so many deletions to be pending.
func (w *world) wantUndone(most int) {
	w.t.Helper()
	if n := undone(w.status()); n > most {
		w.t.Errorf("%d deletions are pending, want at most %d", n, most)
	}
}

// wantGone wants of the documents that were there only those of some pages of the first
// site to have left since a moment.
func (w *world) wantGone(of documents, from time.Time, pages ...int) {
	w.t.Helper()
	var want, got []string
	for _, i := range pages {
		want = append(want, w.site.URL(i))
	}
	lost := w.index.lost(of, from, time.Now())
	for _, o := range lost {
		got = append(got, o.url)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		w.t.Errorf("%d documents left by %s, want the %d that are gone; the first: %s",
			len(got), time.Since(from), len(want), describe(lost))
	}
}

// wantBack wants all documents to be there, as they were, within a day and an hour, and
// nothing pending except what came with an illness. It returns when that was so; 0: never.
func (w *world) wantBack(want documents) time.Duration {
	w.t.Helper()
	var missing, changed, strange []string
	pending := 0
	for healed := time.Now(); time.Since(healed) < recovery; {
		time.Sleep(recoveryStep)
		missing, changed, strange = w.index.at(time.Now()).state(want)
		if pending = undone(w.status()); len(missing)+len(changed) == 0 && pending <= len(strange) {
			return time.Since(healed)
		}
	}
	w.t.Errorf("%s after the site is well %d of %d documents are missing and %d are not the site's own (%s); "+
		"%d deletions are pending, and %d documents came with the illness",
		recovery, len(missing), len(want), len(changed), some(append(missing, changed...)), pending, len(strange))
	return 0
}

// wantSpared wants of a group of documents only so many to have been lost, each day since a
// moment, as the rule lets go, and returns how many were on each.
func (w *world) wantSpared(group documents, from time.Time) []int {
	w.t.Helper()
	spoiled := w.index.spoiled(group, from, time.Now())
	days := daily(spoiled, from)
	for i, n := range days {
		most := aDay(len(group))
		if i == 0 {
			most = firstDay(len(group))
		}
		if n > most {
			w.t.Errorf("day %d: %d of %d documents were lost, want at most %d; the first: %s",
				i+1, n, len(group), most, describe(spoiled))
		}
	}
	return days
}
