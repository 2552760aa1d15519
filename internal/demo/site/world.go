package site

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// World is the sample site with two neighbours, for `sextant demo`: hosts with problems. Its handlers may be used
// concurrently.
//
// The library has broken links, chains and loops of redirects, pages with status 403 and 500, two printings of one
// manual, and a PDF. The harbour office is slow, and has a page that its indexer refuses. Both change once: see Change.
type World struct {
	main           http.Handler
	books, harbour *neighbour
}

// Refused is part of the URL of the harbour office's page that the demo's indexer refuses.
const Refused = "/minutes-"

// NewWorld returns the world whose main site is at siteURL. Each response of the harbour office is delayed by slow.
// With slow 0 nothing delays a crawler: the library's page with status 500, after which a host rests for seconds, has
// status 410.
func NewWorld(siteURL string, slow time.Duration) *World {
	names := strings.NewReplacer("SITE_URL", strings.TrimSuffix(siteURL, "/"))
	return &World{
		main:    Handler(),
		books:   newNeighbour("library", "The Tidewell Library", 0, slow == 0, names),
		harbour: newNeighbour("harbour", "Merrow Bay Harbour Office", slow, slow == 0, names),
	}
}

// Site returns the handler of the main site.
func (w *World) Site() http.Handler { return w.main }

// Books returns the library: the host with errors, from which four manuals disappear.
func (w *World) Books() http.Handler { return w.books }

// Harbour returns the slow host.
func (w *World) Harbour() http.Handler { return w.harbour }

// Change removes manuals from the library, a share of its pages that a crawler should not accept at once, and adds a
// notice to the harbour office.
func (w *World) Change() {
	w.books.changed.Store(true)
	w.harbour.changed.Store(true)
}

// neighbour is a site before and after the change.
type neighbour struct {
	before, after *site
	changed       atomic.Bool
	slow          time.Duration
}

func newNeighbour(folderName, name string, slow time.Duration, quick bool, names *strings.Replacer) *neighbour {
	n := &neighbour{before: &site{guest: name}, after: &site{guest: name}, slow: slow}
	for s, changed := range map[*site]bool{n.before: false, n.after: true} {
		if err := s.load(files, folderName, changed, names); err != nil {
			panic(fmt.Sprintf("site: %s: %v", folderName, err))
		}
		if quick {
			s.neverFail()
		}
		s.add("/style.css", "text/css; charset=utf-8", s.newest, read("assets/style.css"))
		s.add("/images/logo.svg", "image/svg+xml", s.newest, read("assets/logo.svg"))
		if folderName == "library" {
			s.add("/sheets/heron-60.pdf", "application/pdf", s.newest, read("library/heron-60.pdf"))
		}
	}
	return n
}

// neverFail turns failing pages into missing ones.
func (s *site) neverFail() {
	for path, res := range s.resources {
		if res.status >= http.StatusInternalServerError {
			res.status = http.StatusGone
			s.resources[path] = res
		}
	}
}

func (n *neighbour) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n.slow > 0 {
		slowly := time.NewTimer(n.slow)
		defer slowly.Stop()
		select {
		case <-slowly.C:
		case <-r.Context().Done():
			return
		}
	}
	if n.changed.Load() {
		n.after.ServeHTTP(w, r)
		return
	}
	n.before.ServeHTTP(w, r)
}

// read returns an embedded file.
func read(name string) []byte {
	body, err := files.ReadFile(name)
	if err != nil {
		panic("site: " + err.Error())
	}
	return body
}
