package policy

import (
	"crypto/tls"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/weburl"
)

// Fetch holds the request settings for the URLs that Match accepts.
type Fetch struct {
	Name    string                // for explain
	Match   func(weburl.URL) bool // nil: all
	Fetcher fetcher.Settings
	// IgnoreRobots, if not nil, overrides Settings.
	IgnoreRobots *bool
	Login        *Login // nil: no authentication
	// Render selects the pages to render; nil for none.
	Render *Render
}

// Render configures rendering by a browser.
type Render struct {
	// Always renders every page; otherwise only those that scripts fill.
	Always bool
	// Selector is an element to wait for, After the time after which the page is read. Without either, the page is read
	// when it makes no more requests.
	Selector string
	After    time.Duration
}

// RenderAll returns the settings with every page rendered, to try it.
func (s Settings) RenderAll() Settings {
	s.Fetches = append(slices.Clone(s.Fetches), Fetch{Name: "all", Fetcher: s.Fetcher})
	for i := range s.Fetches {
		r := Render{Always: true}
		if own := s.Fetches[i].Render; own != nil {
			r.Selector, r.After = own.Selector, own.After
		}
		s.Fetches[i].Render = &r
	}
	return s
}

// Renders reports whether some pages are made by a browser.
func (s *Settings) Renders() bool {
	return slices.ContainsFunc(s.Fetches, func(f Fetch) bool { return f.Render != nil })
}

// Login is an account at a site or a group of sites.
type Login struct {
	// Name, Origins and Kind are those of auth.Settings and auth.New.
	Name    string
	Origins []string
	Kind    auth.Kind
	// Certificate is presented for auth.Certificate.
	Certificate *tls.Certificate
	// KeepCookies stores its cookies in Settings.CookieFile, so that they outlive the process.
	KeepCookies bool
	// Identity is equal for equal settings: then a reload keeps the session.
	Identity [32]byte
}

// fetchOf returns the first matching element of Fetches, or the zero value.
func (s *Settings) fetchOf(u weburl.URL) Fetch {
	for _, f := range s.Fetches {
		if f.Match == nil || f.Match(u) {
			return f
		}
	}
	return Fetch{}
}

// IgnoresRobots reports whether a URL is fetched regardless of robots.txt.
func (s *Settings) IgnoresRobots(u weburl.URL) bool {
	for _, f := range s.Fetches {
		if f.Match == nil || f.Match(u) {
			return f.IgnoreRobots != nil && *f.IgnoreRobots || f.IgnoreRobots == nil && s.IgnoreRobots
		}
	}
	return s.IgnoreRobots
}
