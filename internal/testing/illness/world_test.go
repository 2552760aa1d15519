package illness

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/sicksite"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func TestMain(m *testing.M) {
	// Package net keeps a channel for all that look names up: it must belong to no bubble.
	nobody := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }}
	_, _ = nobody.LookupHost(context.Background(), sicksite.Host)
	goleak.VerifyTestMain(m)
}

// world is a site, its crawl, and the index that the crawl fills. It lives in a bubble of
// virtual time.
type world struct {
	t        *testing.T
	dir      string
	site     *sicksite.Site
	second   *sicksite.Site // at Neighbour; nil: none
	network  *sicksite.Network
	index    *index
	settings policy.Settings
	log      *slog.Logger

	store *badgerstore.Store // nil while nothing runs
	crawl *crawl.Crawl
	ended chan error // of the crawl that runs
}

// newWorld makes a world in which nothing runs yet. change, which may be nil, is of the
// settings.
func newWorld(t *testing.T, o sicksite.Options, change func(*policy.Settings)) *world {
	t.Helper()
	return newWorldOf(t, sicksite.New(o), nil, change)
}

// newWorldOf has two sites; the second may be nil.
func newWorldOf(t *testing.T, site, second *sicksite.Site, change func(*policy.Settings)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), site: site, second: second, index: &index{}, log: slog.New(slog.DiscardHandler)}
	if os.Getenv("SEXTANT_ILLNESS_LOG") != "" {
		w.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	var err error
	if w.network, err = sicksite.NewNetwork(site, second); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.abandon()
		if err := w.network.Close(); err != nil {
			t.Error(err)
		}
	})
	roots := []string{site.URL(0)}
	if second != nil {
		roots = append(roots, second.URL(0))
	}
	w.settings = settings(t, w.network, roots...)
	if change != nil {
		change(&w.settings)
	}
	return w
}

// open opens the store, and makes a crawl that does not run yet.
func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = badgerstore.Open(w.dir, badgerstore.Options{Durability: badgerstore.OS, MemtableBytes: badgerstore.MinMemtableBytes, NoCompaction: true}); err != nil {
		w.t.Fatal(err)
	}
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
	if _, err := w.store.Verify(w.t.Context(), func(f badgerstore.Fault) { w.t.Errorf("verify: %+v", f) }); err != nil {
		w.t.Error(err)
	}
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
	w.store, w.crawl = nil, nil
}

// once is one `sextant run --once`, after a refresh of all where that is asked for.
func (w *world) once(refresh bool) {
	w.t.Helper()
	w.open()
	if refresh {
		w.refresh(crawl.Selection{All: true})
	}
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

// complete is the index, which must hold every page of the sites.
func (w *world) complete() documents {
	w.t.Helper()
	docs, pages := w.index.at(time.Now()), 0
	for _, site := range []*sicksite.Site{w.site, w.second} {
		if site == nil {
			continue
		}
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
