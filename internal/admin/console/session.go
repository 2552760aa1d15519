package console

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// The lock of sessions guards the lists. Goroutines of requests take it briefly.

const (
	// sessionTime is the lifetime of a session, whether or not it is used.
	sessionTime = 12 * time.Hour
	// maxSessions bounds the sessions; one more ends the oldest.
	maxSessions = 1000
)

// sessions are the signed-in browsers. They exist only in memory: a restart ends them all.
type sessions struct {
	mu   sync.Mutex
	open expiring[*session] // by the hash of the id in the cookie
	// tickets are the tokens of links that sign in once.
	tickets expiring[string]
}

// ticketTime is the time for which a ticket is valid.
const ticketTime = time.Hour

// session is one browser. Its methods do nothing on nil.
type session struct {
	// token is checked at each request, so a session ends when its token does. It is empty for a person that signed in at
	// the provider: then caller identifies them until the session ends.
	token  string
	caller admin.Caller
	words  atomic.Pointer[string] // message to show once; nil: none
}

func newSessions() *sessions {
	return &sessions{open: expiring[*session]{}, tickets: expiring[string]{}}
}

// admit adds a ticket that was written elsewhere.
func (s *sessions) admit(written, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets.add(written, token, ticketTime, maxSessions)
}

// redeem returns the token of a ticket, once.
func (s *sessions) redeem(written string) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tickets.take(written)
}

// begin adds a session, sets its end, and returns its id, which is unpredictable.
func (s *sessions) begin(one *session) (id string) {
	id = newSecret()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open.add(id, one, sessionTime, maxSessions)
	return id
}

// of returns the session of a request, nil if it has no valid one. Several cookies of the name are invalid, since
// another site may have set one.
func (s *sessions) of(r *http.Request) *session {
	cookies := r.CookiesNamed(cookieName(r))
	if len(cookies) != 1 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, _ := s.open.get(cookies[0].Value)
	return one
}

// end ends the sessions of a request, if any.
func (s *sessions) end(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range r.CookiesNamed(cookieName(r)) {
		s.open.take(c.Value)
	}
}

// setMessage stores a message for the next page.
func (s *session) setMessage(words string) {
	if s != nil && words != "" {
		s.words.Store(&words)
	}
}

// takeMessage returns the message and removes it.
func (s *session) takeMessage() string {
	if s == nil {
		return ""
	}
	if words := s.words.Swap(nil); words != nil {
		return *words
	}
	return ""
}

// cookieName returns the name of the cookie. Browsers share cookies between the ports of a host, so it contains the
// port; under TLS the prefix prevents other hosts from setting it (RFC 6265bis, 4.1.3.2).
func cookieName(r *http.Request) string {
	name := "sextant"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	if r.TLS != nil {
		return "__Host-" + name
	}
	return name
}

// cookie returns a cookie with a session's id; an empty id removes it.
func cookie(r *http.Request, id string) *http.Cookie {
	c := &http.Cookie{
		Name: cookieName(r), Value: id, Path: "/", MaxAge: int(sessionTime / time.Second),
		Secure: r.TLS != nil, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}

// fromPage reports whether a browser declares that a request comes from a page of this service. The API has verified
// that declaration before.
func fromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "same-origin"
}
