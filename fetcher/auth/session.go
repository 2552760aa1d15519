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

// Session.mu guards the fields below it, and is never held over a request. A log-in has no goroutine of
// its own: the workers make its requests, as steps of their leases.

// Do makes one request. It must follow no redirect, keep no cookie, and decode
// the body; guard, limits, time-outs, TLS, User-Agent and proxies are its own.
type Do func(ctx context.Context, req *http.Request) (*http.Response, error)

// Settings of a Session; a zero field takes its default.
type Settings struct {
	// Name is the session's in words, logs and status.
	Name string
	// Origins may get the credentials: "https://host", "https://host:8443",
	// "https://*.example.com". Needed; only for a Form is the log-in page's origin
	// the default, and always among them.
	Origins []string
	// Do makes the requests. For NTLM it must speak HTTP/1.1 over connections that
	// no other session uses, for Kerberos HTTP/1.1; for a client certificate, over such ones that carry it.
	Do Do
	// MinBackoff is how long URLs wait after a log-in that failed, doubling up to
	// MaxBackoff; 2 min and 1 h.
	MinBackoff, MaxBackoff time.Duration
	// Logger gets what the operator should know; nil: nobody.
	Logger *slog.Logger
}

// Kind is a way to authenticate: Basic, Digest, NTLM, Kerberos, Bearer, OAuth2,
// Certificate or Form.
type Kind interface {
	// start checks the kind's own settings and makes its method for s.
	start(s *Session) (method, error)
}

// nature is what the decisions need to know of a method.
type nature struct {
	name string
	// renews: there is something to renew (cookies, a token, a nonce), so that a
	// denial is answered by a new log-in first.
	renews bool
	// direct: the credentials go with the request, so that a 401 refuses them.
	direct bool
	// lasting: the server remembers the log-in, and may forget it and say 403.
	lasting bool
	// certificate: TLS carries the credentials.
	certificate bool
}

// method does a kind's work. login is called by one goroutine at a time, the
// others by any number; ready, risks, next and reset are called with Session.mu held
// and must not block.
type method interface {
	nature() nature
	// ready says that pages may be asked for: nothing has to be fetched first.
	ready(now time.Time) bool
	// risks says that a request to the origin of u would carry credentials that may
	// be refused.
	risks(u *url.URL) bool
	// next is the URL of the log-in's next request.
	next() *url.URL
	// login makes that request. With done the log-in is complete.
	login(ctx context.Context) (done bool, err error)
	// reset forgets what was got by logging in.
	reset()
	// exchange makes the request of a page; sent says that it carried credentials.
	exchange(ctx context.Context, req *http.Request) (resp *http.Response, sent bool, err error)
	// read says what an answer means for the session.
	read(a answered) sign
	// isLogInPage says that u is a page that logs in.
	isLogInPage(u weburl.URL) bool
	// secrets are scrubbed from the words of errors.
	secrets() []secret.Value
}

// Session is one account at one site or group of sites: its credentials, its
// cookies, and whether they are proven good. It is safe for concurrent use, and
// prints no secret.
type Session struct {
	settings Settings
	origins  origins
	jar      *Jar
	method   method
	log      *slog.Logger

	// mu guards all that follows; see "What an answer means" in the package documentation.
	mu         sync.Mutex
	generation uint64 // of the credentials in use: changes with each log-in and each doubt
	seq        uint64 // of the last page's request
	goodSeq    uint64 // of the last of them that was answered as it should be
	proved     bool   // by such a page in this generation
	everProved bool   // and since the last failure
	resumed    bool   // what is taken for proved is that of an earlier process
	denials    int    // answers in a row that deny what the session should open
	vain       int    // log-ins in a row that did not help the URL that they were made for
	suspects   suspects

	failures int // log-ins in a row that failed
	retryAt  time.Time
	words    string // of the last failure, "" when all is well
	logIns   int
	since    time.Time // of the last log-in

	probe     *Step     // the one page asked for while nothing is proven
	loggingIn *Step     // the one request of a log-in on its way
	owner     string    // origin whose leases carry the log-in's steps
	ownerTill time.Time // and for how long no other may take over
}

// New returns a Session. The error says what to write instead.
func New(set Settings, k Kind) (*Session, error) {
	if set.Name == "" {
		set.Name = "authentication"
	}
	wrap := func(err error) error { return fmt.Errorf("%s: %w", set.Name, err) }
	if set.Do == nil {
		return nil, wrap(errors.New("no Do: say how requests are made"))
	}
	if set.MinBackoff <= 0 {
		set.MinBackoff = 2 * time.Minute
	}
	if set.MaxBackoff <= 0 {
		set.MaxBackoff = time.Hour
	}
	set.MaxBackoff = max(set.MaxBackoff, set.MinBackoff)
	s := &Session{settings: set, jar: NewJar(), log: set.Logger, suspects: suspects{}}
	s.settings.Do = s.told(set.Do)
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

// String names the session and nothing else.
func (s *Session) String() string { return s.settings.Name + " (" + s.method.nature().name + ")" }

// Format is the form of every verb, lest fmt shows the fields.
func (s *Session) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// Status is what an operator wants to know of a session.
type Status struct {
	Name, Kind string
	// State is "unproven", "good", "logged out" or "failed".
	State string
	// Words say why, for "failed", which lasts until Until.
	Words string
	Until time.Time
	// LogIns counts those that worked; Since is when the last one was.
	LogIns int
	Since  time.Time
}

// Status returns the session's state now.
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
