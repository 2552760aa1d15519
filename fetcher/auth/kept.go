package auth

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// keptCookie is the stored form of a cookie, with everything needed to restore it.
type keptCookie struct {
	Host     string    `json:"host"`
	Domain   bool      `json:"domain,omitempty"` // also for subdomains
	Path     string    `json:"path"`
	Name     string    `json:"name"`
	Value    string    `json:"value"`
	Quoted   bool      `json:"quoted,omitempty"`
	Secure   bool      `json:"secure,omitempty"`
	HTTPOnly bool      `json:"http_only,omitempty"`
	Expires  time.Time `json:"expires,omitzero"` // zero: with the session
}

// kept returns all cookies that have not expired. version counts their changes.
func (j *Jar) kept(now time.Time) []keptCookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []keptCookie
	for e := j.used.Back(); e != nil; e = e.Prev() { // so that restoring them ends with the last used
		for id, r := range e.Value.(*site).records {
			if !r.Expires.IsZero() && !r.Expires.After(now) {
				continue
			}
			host, hostOnly := strings.CutPrefix(id.domain, "=")
			all = append(all, keptCookie{
				Host: host, Domain: !hostOnly, Path: r.Path, Name: r.Name, Value: r.Value, Quoted: r.Quoted,
				Secure: r.Secure, HTTPOnly: r.HttpOnly, Expires: r.Expires,
			})
		}
	}
	return all
}

// resume restores cookies of an earlier process, by the same rules as those of responses.
func (j *Jar) resume(all []keptCookie, now time.Time) (taken int) {
	for _, k := range all {
		if k.Host == "" || !k.Expires.IsZero() && !k.Expires.After(now) {
			continue
		}
		host := k.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]:443" // cookiejar requires the port, and ignores it
		}
		c := &http.Cookie{
			Name: k.Name, Value: k.Value, Quoted: k.Quoted, Path: k.Path, Secure: k.Secure, HttpOnly: k.HTTPOnly, Expires: k.Expires,
		}
		if k.Domain {
			c.Domain = k.Host
		}
		j.SetCookies(&url.URL{Scheme: "https", Host: host, Path: "/"}, []*http.Cookie{c})
		taken++
	}
	return taken
}

// changes counts the changes of the jar.
func (j *Jar) changes() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.version
}

// resumable is a method whose log-in consists of cookies: with them it is logged in.
type resumable interface{ resume() }

func (m *formMethod) resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.in = true
}

// resume begins with the cookies of an earlier process. They count as valid until a page shows otherwise, so that a
// log-in page in place of a page leads to a new log-in at once.
func (s *Session) resume(cookies []keptCookie, now time.Time) {
	if s.jar.resume(cookies, now) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.method.(resumable); ok {
		m.resume()
		s.proved, s.everProved, s.resumed = true, true, true
	}
	s.log.Info("continues with the cookies of its last run", "session", s.settings.Name, "kind", s.method.nature().name)
}

// kept returns the session's cookies, none while it is logged out: they are useless then.
func (s *Session) kept(now time.Time) []keptCookie {
	s.mu.Lock()
	_, byCookies := s.method.(resumable)
	out := byCookies && !s.method.ready(now)
	s.mu.Unlock()
	if out {
		return nil
	}
	return s.jar.kept(now)
}
