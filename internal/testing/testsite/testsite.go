// Package testsite serves a deterministic web site on loopback for tests of the crawler, and records the time of each
// request as the server saw it.
//
// A Site's pages and visits are guarded by its mutex.
package testsite

import (
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Site.mu guards the pages and the requests seen; the server's goroutines and the test's
// take it.

// Options configures New. The zero value is a small site on one host.
type Options struct {
	// Pages is the number of pages in the link graph, home page included; 0 means 20.
	Pages int
	// Hosts is the number of origins that serve it, each with all pages, its own port and links to its own pages; the
	// home page of the first links to the others'. 0 means 1.
	Hosts int
	// Delay delays every response, in addition to Page.Delay.
	Delay time.Duration
	// Disallow are path prefixes that robots.txt forbids to all; nil means "/private/". An empty list that is not nil
	// allows all.
	Disallow []string
}

// Page is the response for a path. The zero value is an empty 200 of text/html.
type Page struct {
	Status      int    // 0 means 200
	Body        string // as sent
	ContentType string // "" means text/html; charset=utf-8
	// Header is added to the response, for example Location or X-Robots-Tag.
	Header map[string]string
	// LastModified is sent if it is not zero, to the second. With it, or with the
	// ETag that every 200 has, a conditional request for an unchanged page gets a 304.
	LastModified time.Time
	NoETag       bool
	Delay        time.Duration // delay of the response
	// Hold, if not nil, delays the response until it is closed.
	Hold <-chan struct{}
}

// Visit is one request, as the server saw it.
type Visit struct {
	Host        string // host:port of the request
	Path        string // with query
	Status      int    // of the response
	Conditional bool   // the request carried If-None-Match or If-Modified-Since
	UserAgent   string
	// Begin is the time when the header was read, End when the response was complete before it was passed to the network:
	// a client that has read it is never earlier.
	Begin, End time.Time
}

// Site is a running test site. Its methods may be called concurrently, also while it is being crawled.
type Site struct {
	delay   time.Duration
	origins []string // without a closing slash

	mu     sync.Mutex
	pages  map[string]Page // by path with query
	visits []Visit
}

// New starts a site, which closes with the test. Besides the link graph (see
// Path) every host has /robots.txt, /moved (a 301 to page 1), /noindex.html,
// /private/secret.html (which robots.txt forbids by default) and a link to
// /missing.html, a 404. All are linked from the home page.
func New(t testing.TB, o Options) *Site {
	t.Helper()
	if o.Pages == 0 {
		o.Pages = 20
	}
	if o.Hosts == 0 {
		o.Hosts = 1
	}
	if o.Disallow == nil {
		o.Disallow = []string{"/private/"}
	}
	s := &Site{delay: o.Delay, pages: map[string]Page{}}
	for range o.Hosts {
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		s.origins = append(s.origins, server.URL)
	}
	s.fill(o)
	return s
}

// URL returns the home page of the first host.
func (s *Site) URL() string { return s.origins[0] + "/" }

// Origins are scheme, host and port of each host, without a closing slash.
func (s *Site) Origins() []string { return slices.Clone(s.origins) }

// Set sets the page at path, which begins with a slash and may have a query, on every host, from the next request on.
func (s *Site) Set(path string, page Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = page
}

// Remove makes path return 404.
func (s *Site) Remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pages, path)
}

// Get returns the current page at a path; ok is false if there is none.
func (s *Site) Get(path string) (page Page, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, ok = s.pages[path]
	return page, ok
}

// Visits returns the completed requests, in the order in which they began.
func (s *Site) Visits() []Visit {
	s.mu.Lock()
	visits := slices.Clone(s.visits)
	s.mu.Unlock()
	slices.SortStableFunc(visits, func(a, b Visit) int { return a.Begin.Compare(b.Begin) })
	return visits
}

// Hits counts the completed requests for path (with query) on all hosts.
func (s *Site) Hits(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, v := range s.visits {
		if v.Path == path {
			n++
		}
	}
	return n
}

// ShortestGap returns the shortest time between the end of a request to host and the beginning of the next one:
// negative if two overlapped. It returns false if there were fewer than two.
func (s *Site) ShortestGap(host string) (time.Duration, bool) {
	var end time.Time
	var shortest time.Duration
	n := 0
	for _, v := range s.Visits() {
		if !strings.EqualFold(v.Host, host) {
			continue
		}
		n++
		if gap := v.Begin.Sub(end); n == 2 || n > 2 && gap < shortest {
			shortest = gap
		}
		if v.End.After(end) {
			end = v.End
		}
	}
	return shortest, n > 1
}
