package visit

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/weburl"
)

// Accesses are immutable, and all workers share them. Only a session outlives its access: a
// mutex guards which one makes its requests.

// Access holds the request settings of a group of URLs. It is immutable except for its session.
type Access struct {
	match   func(weburl.URL) bool // nil: all
	before  Accesses              // those matched first
	fetcher *fetcher.Fetcher
	// refuses private addresses, for untrusted pages; nil if none is rendered
	strict       *fetcher.Fetcher
	render       *policy.Render // nil: not rendered
	header       http.Header    // the fetcher's, for the requests of a log-in
	login        *login         // nil: no authentication
	do           auth.Do        // nil for the fetcher's own; otherwise it keeps cookies
	cookies      *auth.Jar      // the cookies that do keeps, nil without
	ignoreRobots bool
	proxied      bool // the proxy looks names up
}

// login is a session that may outlive the fetcher that makes its requests.
type login struct {
	name     string
	identity [32]byte
	session  *auth.Session
	renews   bool // it is made of requests: a form, a token
	keeps    bool // its cookies outlive the process

	mu     sync.Mutex
	access *Access // makes the requests from now on
}

func (l *login) by(a *Access) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.access = a
}

// do makes a request for the log-in, or for a page. Only URLs that the condition matches get the header of its Fetch: a
// log-in may involve other hosts.
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

// Accesses are matched in order; the last one matches all URLs.
type Accesses []*Access

func (all Accesses) of(u weburl.URL) *Access {
	for _, a := range all {
		if a.match == nil || a.match(u) {
			return a
		}
	}
	return all[len(all)-1]
}

// owns reports whether a is used to request u.
func (a *Access) owns(u weburl.URL) bool {
	return (a.match == nil || a.match(u)) &&
		!slices.ContainsFunc(a.before, func(b *Access) bool { return b.match == nil || b.match(u) })
}

// Close closes idle connections.
func (all Accesses) Close() {
	for _, a := range all {
		a.fetcher.Close()
		if a.strict != nil {
			a.strict.Close()
		}
	}
}

// Sessions returns the sessions of the accesses, for the operator.
func (all Accesses) Sessions() []SessionStatus {
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

// AccessBuilder creates the fetching parts of policies, with the parts that outlive them.
type AccessBuilder struct {
	Log *slog.Logger
	Jar *auth.Jar // cookies of all sites, with EnableCookies
	// Kept holds cookies stored by a previous process; nil for none.
	Kept *auth.CookieFile
	// Complete adds the crawl's own settings to those of a fetcher.
	Complete func(fetcher.Settings, *policy.Policy) fetcher.Settings
}

// Accesses creates the accesses for a policy's settings. Previous sessions with the same settings continue, with their
// cookies; they use the new fetcher once adopt has been called.
func (e *AccessBuilder) Accesses(p *policy.Policy, before Accesses) (Accesses, error) {
	var all Accesses
	for _, f := range p.Settings.Fetches {
		a := &Access{match: f.Match, before: slices.Clip(all), header: f.Fetcher.Header, ignoreRobots: p.Settings.IgnoreRobots, proxied: f.Fetcher.Proxy != nil}
		if f.IgnoreRobots != nil {
			a.ignoreRobots = *f.IgnoreRobots
		}
		settings := e.Complete(f.Fetcher, p)
		if f.Login != nil {
			if f.Login.Certificate != nil {
				settings.Certificates = []tls.Certificate{*f.Login.Certificate}
			}
			switch f.Login.Kind.(type) {
			case auth.NTLM, auth.Kerberos:
				settings.HTTP1 = true
			}
		}
		a.fetcher = fetcher.New(settings, e.Log)
		a.render, a.strict = f.Render, e.strict(p, settings)
		if f.Login != nil {
			var err error
			if a.login, err = e.login(f.Login, a, slices.Concat(before, all)); err != nil {
				return nil, err
			}
		} else {
			e.cookies(p, a)
		}
		all = append(all, a)
	}
	settings := e.Complete(p.Settings.Fetcher, p)
	last := &Access{fetcher: fetcher.New(settings, e.Log), strict: e.strict(p, settings), ignoreRobots: p.Settings.IgnoreRobots}
	e.cookies(p, last)
	return append(all, last), nil
}

// strict returns a fetcher that refuses private addresses, if some pages are rendered.
func (e *AccessBuilder) strict(p *policy.Policy, s fetcher.Settings) *fetcher.Fetcher {
	if !p.Settings.Renders() {
		return nil
	}
	s.DenyPrivate, s.Exempt = true, nil
	return fetcher.New(s, e.Log)
}

// cookies lets an access keep the cookies of all sites, if enabled.
func (e *AccessBuilder) cookies(p *policy.Policy, a *Access) {
	if p.Settings.EnableCookies {
		a.do, a.cookies = e.Jar.Do(a.fetcher.Do), e.Jar
	}
}

// Adopt makes the sessions use these accesses for their requests.
func (all Accesses) Adopt() {
	for _, a := range all {
		if a.login != nil {
			a.login.by(a)
		}
	}
}

// Kept returns the sessions whose cookies outlive the process.
func (all Accesses) Kept() map[[32]byte]*auth.Session {
	out := map[[32]byte]*auth.Session{}
	for _, a := range all {
		if a.login != nil && a.login.keeps {
			out[a.login.identity] = a.login.session
		}
	}
	return out
}

// login returns the previous session with the same settings, or a new one.
func (e *AccessBuilder) login(l *policy.Login, by *Access, before Accesses) (*login, error) {
	for _, a := range before {
		if a.login != nil && a.login.identity == l.Identity {
			return a.login, nil
		}
	}
	out := &login{name: l.Name, identity: l.Identity, access: by, keeps: l.KeepCookies}
	switch l.Kind.(type) {
	case auth.Form, auth.OAuth2:
		out.renews = true
	}
	var err error
	out.session, err = auth.New(auth.Settings{Name: l.Name, Origins: l.Origins, Logger: e.Log, Do: out.do}, l.Kind)
	if err == nil && l.KeepCookies {
		e.Kept.ResumeSession(l.Identity, out.session)
	}
	return out, err
}

// Adopted reports whether all sessions make their requests by these accesses.
func (all Accesses) Adopted() bool {
	return !slices.ContainsFunc(all, func(a *Access) bool { return a.login != nil && a.login.access != a })
}
