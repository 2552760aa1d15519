package crawl

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

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

// ignoresRobots reports whether a URL is fetched whatever robots.txt says.
func (s *Settings) ignoresRobots(u weburl.URL) bool {
	for _, f := range s.Fetches {
		if f.Match == nil || f.Match(u) {
			return f.IgnoreRobots != nil && *f.IgnoreRobots || f.IgnoreRobots == nil && s.IgnoreRobots
		}
	}
	return s.IgnoreRobots
}

// access is how a group of URLs is asked for. It is immutable but for what its
// session learns.
type access struct {
	match        func(weburl.URL) bool // nil: all
	before       accesses              // that are asked first
	fetcher      *fetcher.Fetcher
	header       http.Header // the fetcher's, for the requests of a log-in
	login        *login      // nil: no authentication
	do           auth.Do     // nil: the fetcher's own; else it keeps cookies
	ignoreRobots bool
	proxied      bool // the proxy looks names up
}

// login is a session that may outlive the fetcher that makes its requests.
type login struct {
	identity [32]byte
	session  *auth.Session
	renews   bool // it is made of requests: a form, a token

	mu     sync.Mutex
	access *access // makes the requests from now on
}

func (l *login) by(a *access) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.access = a
}

// do makes a request of the log-in, or of a page. Only who belongs to the condition
// gets the header of its Fetch: a log-in may ask other hosts.
func (l *login) do(ctx context.Context, req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	a := l.access
	l.mu.Unlock()
	if u, err := weburl.Parse(req.URL.String()); len(a.header) > 0 && err == nil && a.owns(u) {
		req = req.Clone(ctx)
		for name, values := range a.header {
			if req.Header[name] == nil {
				req.Header[name] = values
			}
		}
	}
	return a.fetcher.Do(ctx, req)
}

// accesses are asked in order; the last one matches all.
type accesses []*access

func (all accesses) of(u weburl.URL) *access {
	for _, a := range all {
		if a.match == nil || a.match(u) {
			return a
		}
	}
	return all[len(all)-1]
}

// owns says that u is asked for by a.
func (a *access) owns(u weburl.URL) bool {
	return (a.match == nil || a.match(u)) &&
		!slices.ContainsFunc(a.before, func(b *access) bool { return b.match == nil || b.match(u) })
}

func (all accesses) close() {
	for _, a := range all {
		a.fetcher.Close()
	}
}

// sessions are those of the accesses, as the operator sees them.
func (all accesses) sessions() []SessionStatus {
	var out []SessionStatus
	seen := map[*login]bool{}
	for _, a := range all {
		if a.login != nil && !seen[a.login] {
			seen[a.login] = true
			out = append(out, newSessionStatus(a.login.session.Status()))
		}
	}
	return out
}

// newAccesses makes what fetches pages by a policy's settings. Sessions of before
// whose settings are the same go on, with their cookies; they make their requests
// by the new fetcher when adopt was called.
func (c *Crawl) newAccesses(p *policy, before accesses) (accesses, error) {
	var all accesses
	for _, f := range p.settings.Fetches {
		a := &access{match: f.Match, before: slices.Clip(all), header: f.Fetcher.Header, ignoreRobots: p.settings.IgnoreRobots, proxied: f.Fetcher.Proxy != nil}
		if f.IgnoreRobots != nil {
			a.ignoreRobots = *f.IgnoreRobots
		}
		settings := c.fetcherSettings(f.Fetcher, p)
		if f.Login != nil {
			if f.Login.Certificate != nil {
				settings.Certificates = []tls.Certificate{*f.Login.Certificate}
			}
			if _, ntlm := f.Login.Kind.(auth.NTLM); ntlm {
				settings.HTTP1 = true
			}
		}
		a.fetcher = fetcher.New(settings, c.log)
		if f.Login != nil {
			var err error
			if a.login, err = newLogin(f.Login, a, slices.Concat(before, all), c.log); err != nil {
				return nil, err
			}
		} else {
			a.do = c.cookies(p, a.fetcher)
		}
		all = append(all, a)
	}
	last := &access{fetcher: fetcher.New(c.fetcherSettings(p.settings.Fetcher, p), c.log), ignoreRobots: p.settings.IgnoreRobots}
	last.do = c.cookies(p, last.fetcher)
	return append(all, last), nil
}

// cookies is what keeps them for all sites, nil where nothing does.
func (c *Crawl) cookies(p *policy, f *fetcher.Fetcher) auth.Do {
	if !p.settings.EnableCookies {
		return nil
	}
	return c.jar.Do(f.Do)
}

// adopt lets the sessions make their requests by these accesses.
func (all accesses) adopt() {
	for _, a := range all {
		if a.login != nil {
			a.login.by(a)
		}
	}
}

func newLogin(l *Login, by *access, before accesses, log *slog.Logger) (*login, error) {
	for _, a := range before {
		if a.login != nil && a.login.identity == l.Identity {
			return a.login, nil
		}
	}
	out := &login{identity: l.Identity, access: by}
	switch l.Kind.(type) {
	case auth.Form, auth.OAuth2:
		out.renews = true
	}
	var err error
	out.session, err = auth.New(auth.Settings{Name: l.Name, Origins: l.Origins, Logger: log, Do: out.do}, l.Kind)
	return out, err
}

// SessionStatus is an account as an operator sees it. There are no secrets in it.
type SessionStatus struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// State is "unproven", "good", "logged out" or "failed"; Words say why it failed,
	// and Until when it is tried again.
	State  string     `json:"state"`
	Words  string     `json:"words,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	LogIns int        `json:"log_ins"`
	Since  *time.Time `json:"since,omitempty"` // the last of them
}

func newSessionStatus(s auth.Status) SessionStatus {
	out := SessionStatus{Name: s.Name, Kind: s.Kind, State: s.State, Words: s.Words, LogIns: s.LogIns}
	for _, t := range []struct {
		to   **time.Time
		from time.Time
	}{{&out.Until, s.Until}, {&out.Since, s.Since}} {
		if !t.from.IsZero() {
			at := t.from.UTC()
			*t.to = &at
		}
	}
	return out
}

// String is a line for a person.
func (s SessionStatus) String() string {
	line := fmt.Sprintf("%s (%s): %s", s.Name, s.Kind, s.State)
	if s.Until != nil {
		line += " until " + s.Until.Local().Format(time.DateTime)
	}
	if s.Words != "" {
		line += ": " + s.Words
	}
	if s.Since != nil {
		line += fmt.Sprintf("; %d log-ins, the last one at %s", s.LogIns, s.Since.Local().Format(time.DateTime))
	}
	return line
}
