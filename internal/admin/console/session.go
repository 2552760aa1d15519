package console

import (
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// The lock of sessions guards the list, that of a session its message. Goroutines of requests take them briefly, never
// both.

const (
	// sessionTime is the lifetime of a session, whether or not it is used.
	sessionTime = 12 * time.Hour
	// maxSessions bounds the sessions; one more ends the oldest.
	maxSessions = 1000
)

// sessions are the signed-in browsers. They exist only in memory: a restart ends them all.
type sessions struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*session // by the hash of the id in the cookie
	// tickets are links that sign in once, by the hash of their secret.
	tickets map[[sha256.Size]byte]ticket
}

// ticket stands for a token until it is used or expires.
type ticket struct {
	token string
	ends  time.Time
}

// ticketTime is the time for which a ticket is valid.
const ticketTime = time.Hour

// session is one browser. Its methods do nothing on nil.
type session struct {
	// token is checked at each request, so a session ends when its token does. It is empty for a person that signed in at
	// the provider: then caller identifies them until the session ends.
	token  string
	caller admin.Caller
	ends   time.Time

	mu    sync.Mutex
	words string // message to show once
}

func newSessions() *sessions {
	return &sessions{open: map[[sha256.Size]byte]*session{}, tickets: map[[sha256.Size]byte]ticket{}}
}

// admit adds a ticket that was written elsewhere.
func (s *sessions) admit(written, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets[sha256.Sum256([]byte(written))] = ticket{token, time.Now().Add(ticketTime)}
}

// redeem returns the token of a ticket, once.
func (s *sessions) redeem(written string) (token string, ok bool) {
	key, now := sha256.Sum256([]byte(written)), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tickets[key]
	delete(s.tickets, key)
	return t.token, ok && t.ends.After(now)
}

// begin adds a session, sets its end, and returns its id, which is unpredictable.
func (s *sessions) begin(one *session) (id string) {
	id = rand.Text() + rand.Text() // 260 bits
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, old := range s.open {
		if !old.ends.After(now) {
			delete(s.open, key)
		}
	}
	if len(s.open) >= maxSessions {
		s.forgetOldest()
	}
	one.ends = now.Add(sessionTime)
	s.open[sha256.Sum256([]byte(id))] = one
	return id
}

func (s *sessions) forgetOldest() {
	var oldest [sha256.Size]byte
	var ends time.Time
	for key, one := range s.open {
		if ends.IsZero() || one.ends.Before(ends) {
			oldest, ends = key, one.ends
		}
	}
	delete(s.open, oldest)
}

// of returns the session of a request, nil if it has no valid one. Several cookies of the name are invalid, since
// another site may have set one.
func (s *sessions) of(r *http.Request) *session {
	cookies := r.CookiesNamed(cookieName(r))
	if len(cookies) != 1 {
		return nil
	}
	key := sha256.Sum256([]byte(cookies[0].Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.open[key]
	if one == nil || !one.ends.After(time.Now()) {
		delete(s.open, key)
		return nil
	}
	return one
}

// end ends the sessions of a request, if any.
func (s *sessions) end(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range r.CookiesNamed(cookieName(r)) {
		delete(s.open, sha256.Sum256([]byte(c.Value)))
	}
}

// setMessage stores a message for the next page.
func (s *session) setMessage(words string) {
	if s == nil || words == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words = words
}

// takeMessage returns the message and removes it.
func (s *session) takeMessage() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	words := s.words
	s.words = ""
	return words
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
