package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/weburl"
)

// Session.mu guards the fields below it, and is never held over a request. A log-in has no goroutine of its own: the
// workers make its requests, as steps of their leases.

// Do makes one request. It must follow no redirect, store no cookie, and decode the body; guard, limits, time-outs,
// TLS, User-Agent and proxies are its own.
type Do func(ctx context.Context, req *http.Request) (*http.Response, error)

// Settings of a Session; a zero field takes its default.
type Settings struct {
	// Name is the session's name in messages, logs and status.
	Name string
	// Origins may receive the credentials: "https://host", "https://host:8443", "https://*.example.com". Required,
	// except for a Form, where the log-in page's origin is the default and always included.
	Origins []string
	// Do makes the requests. For NTLM it must use HTTP/1.1 over connections that no other session uses, for Kerberos
	// HTTP/1.1; for a client certificate, separate connections that present it.
	Do Do
	// MinBackoff is the time for which URLs wait after a failed log-in, doubling up to MaxBackoff; by default 2 min and 1
	// h.
	MinBackoff, MaxBackoff time.Duration
	// Logger receives messages for the operator; nil: no log.
	Logger *slog.Logger
}

// Kind is a way to authenticate: Basic, Digest, NTLM, Kerberos, Bearer, OAuth2,
// Certificate or Form.
type Kind interface {
	// start checks the kind's own settings and makes its method for s.
	start(s *Session) (method, error)
}

// nature is the set of properties of a method that decisions need.
type nature struct {
	name string
	// renews is set if there is something to renew (cookies, a token, a nonce), so that a denial leads to a new log-in
	// first.
	renews bool
	// direct is set if the request carries the credentials, so that a 401 refuses them.
	direct bool
	// lasting is set if the server remembers the log-in, and may forget it and return 403.
	lasting bool
	// certificate is set if TLS carries the credentials.
	certificate bool
}

// method implements a kind. login is called by one goroutine at a time, the others concurrently; ready, risks, next and
// reset are called with Session.mu held and must not block.
type method interface {
	nature() nature
	// ready reports whether pages may be requested: nothing has to be fetched first.
	ready(now time.Time) bool
	// risks reports whether a request to the origin of u would carry credentials that may be refused.
	risks(u *url.URL) bool
	// next returns the URL of the log-in's next request.
	next() *url.URL
	// login makes that request. done is true if the log-in is complete.
	login(ctx context.Context) (done bool, err error)
	// reset forgets the results of the log-in.
	reset()
	// exchange makes the request of a page; sent is true if it carried credentials.
	exchange(ctx context.Context, req *http.Request) (resp *http.Response, sent bool, err error)
	// read returns what a response shows about the session.
	read(a answered) sign
	// isLogInPage reports whether u is a page that logs in.
	isLogInPage(u weburl.URL) bool
	// secrets returns the values to remove from error texts.
	secrets() []secret.Value
}

// Session is one account at one site or group of sites: its credentials, its cookies, and whether they are proven good.
// It is safe for concurrent use, and never prints a secret.
type Session struct {
	settings Settings
	origins  origins
	jar      *Jar
	method   method
	log      *slog.Logger

	// mu guards all fields below; see "What an answer means" in the package documentation.
	mu         sync.Mutex
	generation uint64 // of the credentials in use: changes with each log-in and each doubt
	seq        uint64 // of the last page's request
	goodSeq    uint64 // of the last of them with a good response
	proved     bool   // by such a page in this generation
	everProved bool   // by any since the last failure
	resumed    bool   // the proof comes from an earlier process
	denials    int    // responses in a row that deny a page that the session should open
	vain       int    // log-ins in a row that did not help the URL they were made for
	suspects   suspects

	failures int // log-ins in a row that failed
	retryAt  time.Time
	words    string // of the last failure, "" when all is well
	logIns   int
	since    time.Time // of the last log-in

	probe     *Step     // the one page requested while nothing is proven
	loggingIn *Step     // the log-in request in flight
	owner     string    // origin whose leases carry the log-in's steps
	ownerTill time.Time // until when no other origin may take over
}

// New returns a Session. The error states how to correct the settings.
func New(set Settings, k Kind) (*Session, error) {
	if set.Name == "" {
		set.Name = "authentication"
	}
	wrap := func(err error) error { return fmt.Errorf("%s: %w", set.Name, err) }
	if set.Do == nil {
		return nil, wrap(errors.New("Do is missing: set the function that makes requests"))
	}
	if set.MinBackoff <= 0 {
		set.MinBackoff = 2 * time.Minute
	}
	if set.MaxBackoff <= 0 {
		set.MaxBackoff = time.Hour
	}
	set.MaxBackoff = max(set.MaxBackoff, set.MinBackoff)
	s := &Session{settings: set, jar: NewJar(), log: set.Logger, suspects: suspects{}}
	s.settings.Do = s.reporting(set.Do)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.origins, err = parseOrigins(set.Origins); err != nil {
		return nil, wrap(err)
	}
	if s.method, err = k.start(s); err != nil {
		return nil, wrap(err)
	}
	if len(s.origins) == 0 {
		return nil, wrap(errNoOrigins)
	}
	return s, nil
}

// String returns the session's name and kind.
func (s *Session) String() string { return s.settings.Name + " (" + s.method.nature().name + ")" }

// Format writes String for every verb, so that fmt never shows the fields.
func (s *Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// Status describes a session to the operator.
type Status struct {
	Name, Kind string
	// State is "unproven", "good", "logged out" or "failed".
	State string
	// Words are the reason for "failed", which lasts until Until.
	Words string
	Until time.Time
	// LogIns counts the successful ones; Since is the time of the last.
	LogIns int
	Since  time.Time
}

// Status returns the session's present state.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	st := Status{
		Name: s.settings.Name, Kind: s.method.nature().name, State: "unproven",
		Words: s.words, LogIns: s.logIns, Since: s.since,
	}
	switch {
	case now.Before(s.retryAt):
		st.State, st.Until = "failed", s.retryAt
	case !s.method.ready(now):
		st.State = "logged out"
	case s.proved && !s.resumed:
		st.State = "good"
	}
	return st
}
