package policy

import (
	"crypto/tls"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/weburl"
)

// Fetch says how the URLs are asked for that Match says true to.
type Fetch struct {
	Name    string                // for explain
	Match   func(weburl.URL) bool // nil: all
	Fetcher fetcher.Settings
	// IgnoreRobots, if not nil, takes the place of that of Settings.
	IgnoreRobots *bool
	Login        *Login // nil: no authentication
}

// Login is an account at a site or a group of sites.
type Login struct {
	// Name, Origins and Kind are those of auth.Settings and auth.New.
	Name    string
	Origins []string
	Kind    auth.Kind
	// Certificate is presented for auth.Certificate.
	Certificate *tls.Certificate
	// Identity is equal for equal settings: the session goes on over a reload then.
	Identity [32]byte
}

// fetchOf is the name of the first of Fetches that matches, empty if none does.
func (s *Settings) fetchOf(u weburl.URL) string {
	for _, f := range s.Fetches {
		if f.Match == nil || f.Match(u) {
			return f.Name
		}
	}
	return ""
}

// IgnoresRobots reports whether a URL is fetched whatever robots.txt says.
func (s *Settings) IgnoresRobots(u weburl.URL) bool {
	for _, f := range s.Fetches {
		if f.Match == nil || f.Match(u) {
			return f.IgnoreRobots != nil && *f.IgnoreRobots || f.IgnoreRobots == nil && s.IgnoreRobots
		}
	}
	return s.IgnoreRobots
}
