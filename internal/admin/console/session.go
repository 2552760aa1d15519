package console

import (
	"crypto/rand"
	"crypto/sha256"
	"net"
	"net/http"
	"sync"
	"time"
)

// The lock of sessions guards which are open, that of a session what it has to say. The
// goroutines of requests take them for a moment, never one within the other.

const (
	// sessionTime is how long a session holds, whatever happens in it.
	sessionTime = 12 * time.Hour
	// maxSessions are held; with one more the oldest ends.
	maxSessions = 1000
)

// sessions are the browsers that have signed in. They are in memory alone: a restart
// ends them all.
type sessions struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*session // by the hash of the id in the cookie
	// tickets are links that sign in once, by the hash of what they carry.
	tickets map[[sha256.Size]byte]ticket
}

// ticket stands for a token until it is used, or ends.
type ticket struct {
	token string
	ends  time.Time
}

// ticketTime is how long a ticket may be used.
const ticketTime = time.Hour

// session is one browser. Its methods may be called on nil: then they do nothing.
type session struct {
	// token is asked about at each request, so a session ends when its token does.
	token string
	ends  time.Time

	mu    sync.Mutex
	words string // to be shown once
}

func newSessions() *sessions {
	return &sessions{open: map[[sha256.Size]byte]*session{}, tickets: map[[sha256.Size]byte]ticket{}}
}

// admit takes a ticket that was written elsewhere.
func (s *sessions) admit(written, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets[sha256.Sum256([]byte(written))] = ticket{token, time.Now().Add(ticketTime)}
}

// redeem gives the token that a ticket stands for, once.
func (s *sessions) redeem(written string) (token string, ok bool) {
	key, now := sha256.Sum256([]byte(written)), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tickets[key]
	delete(s.tickets, key)
	return t.token, ok && t.ends.After(now)
}

// begin makes a session and gives its id, which nobody could have known before.
func (s *sessions) begin(token string) (id string) {
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
	s.open[sha256.Sum256([]byte(id))] = &session{token: token, ends: now.Add(sessionTime)}
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

// of finds the session of a request, nil if it has none that holds. Several cookies of
// the name are none: somebody else may have set one.
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

// end ends the sessions of a request, if it has any.
func (s *sessions) end(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range r.CookiesNamed(cookieName(r)) {
		delete(s.open, sha256.Sum256([]byte(c.Value)))
	}
}

// say keeps words for the next page.
func (s *session) say(words string) {
	if s == nil || words == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words = words
}

// said gives the words once.
func (s *session) said() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	words := s.words
	s.words = ""
	return words
}

// cookieName is the name of the cookie. Browsers share cookies between the ports of a
// host, so it names the port; under TLS the prefix keeps other hosts from setting it
// (RFC 6265bis, 4.1.3.2).
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

// cookie carries the id of a session; an empty id removes it.
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

// fromPage says whether a browser says that a request comes from a page of this
// service. That what it says is true, the API has judged before.
func fromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "same-origin"
}
