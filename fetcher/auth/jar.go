package auth

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

// A Jar has one mutex, which each method holds throughout: no request is made while it is held.

// Limits of a Jar. Browsers keep 180 cookies of a site and 4 KiB of each; most
// servers refuse a request header of more than 8 to 16 KiB.
const (
	maxSites       = 1000
	maxSiteCookies = 100
	maxSiteBytes   = 16 << 10 // of names and values
	maxCookieBytes = 4 << 10
)

// Jar stores cookies by the rules of RFC 6265 and the public suffix list: those of a session, or with Do those of all
// sites. It is bounded: a site (a registrable domain) that sends too much keeps its present cookies, and with too many
// sites the least recently used one is forgotten. It is safe for concurrent use, and never prints a cookie.
type Jar struct {
	mu    sync.Mutex
	sites map[string]*list.Element // of *site
	used  *list.List               // most recently used first
	// version counts changes.
	version uint64
}

// site holds the cookies of one registrable domain: cookies are never sent outside it.
type site struct {
	name    string
	jar     *cookiejar.Jar
	records map[cookieID]record
	bytes   int
}

// cookieID identifies a cookie (RFC 6265 section 5.3 step 11).
type cookieID struct{ domain, path, name string }

// record is a cookie with absolute times and path, for counting: cookiejar reports neither attributes nor numbers.
type record struct{ *http.Cookie }

func (r record) size() int { return len(r.Name) + len(r.Value) }

// NewJar returns an empty jar.
func NewJar() *Jar { return &Jar{sites: map[string]*list.Element{}, used: list.New()} }

// String returns the same for every jar.
func (*Jar) String() string { return "cookies " + redacted }

// GoString returns String for %#v.
func (j *Jar) GoString() string { return j.String() }

// Do returns a Do that stores cookies of all sites for requests of next.
func (j *Jar) Do(next Do) Do {
	return func(ctx context.Context, req *http.Request) (*http.Response, error) {
		u := req.URL
		if cookies := j.Cookies(u); len(cookies) > 0 {
			req = req.Clone(ctx)
			addCookies(req, cookies)
		}
		resp, err := next(ctx, req)
		if err == nil {
			j.SetCookies(u, resp.Cookies())
		}
		return resp, err
	}
}

func addCookies(req *http.Request, cookies []*http.Cookie) {
	for _, c := range cookies {
		req.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value, Quoted: c.Quoted})
	}
}

// siteOf returns the registrable domain, or the host if there is none.
func siteOf(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if net.ParseIP(host) != nil {
		return host
	}
	if name, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return name
	}
	return host
}

// Cookies returns the cookies for a request for u.
func (j *Jar) Cookies(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	element, ok := j.sites[siteOf(u)]
	if !ok {
		return nil
	}
	j.used.MoveToFront(element)
	return element.Value.(*site).jar.Cookies(u)
}

// SetCookies stores the cookies of a response to u.
func (j *Jar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	if len(cookies) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.version++
	s := j.site(siteOf(u))
	now := time.Now()
	for _, c := range cookies[:min(len(cookies), maxSiteCookies)] {
		s.set(u, c, now)
	}
}

// Clear forgets all cookies.
func (j *Jar) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.version++
	clear(j.sites)
	j.used.Init()
}

// site returns the site of that name, and marks it as last used. Its caller holds mu.
func (j *Jar) site(name string) *site {
	if element, ok := j.sites[name]; ok {
		j.used.MoveToFront(element)
		return element.Value.(*site)
	}
	// With options, New returns no error.
	jar, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	s := &site{name: name, jar: jar, records: map[cookieID]record{}}
	j.sites[name] = j.used.PushFront(s)
	if j.used.Len() > maxSites {
		delete(j.sites, j.used.Remove(j.used.Back()).(*site).name)
	}
	return s
}

func (s *site) set(u *url.URL, c *http.Cookie, now time.Time) {
	r := newRecord(u, c, now)
	id := cookieID{strings.ToLower(strings.TrimPrefix(c.Domain, ".")), r.Path, c.Name}
	if id.domain == "" {
		id.domain = "=" + strings.ToLower(u.Hostname()) // for this host only
	}
	if c.MaxAge < 0 || !r.Expires.IsZero() && !r.Expires.After(now) {
		s.bytes -= s.recorded(id)
		delete(s.records, id)
		s.jar.SetCookies(u, []*http.Cookie{c})
		return
	}
	if !admissible(u, r.Cookie) {
		return
	}
	if !s.fits(id, r) {
		s.expire(now)
		if !s.fits(id, r) {
			return
		}
	}
	s.bytes += r.size() - s.recorded(id)
	s.records[id] = r
	s.jar.SetCookies(u, []*http.Cookie{r.Cookie})
}

// admissible reports whether cookiejar accepts a cookie: one of another domain takes no space.
func admissible(u *url.URL, c *http.Cookie) bool {
	if c.Domain == "" {
		return true
	}
	// With options, New returns no error.
	jar, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	jar.SetCookies(u, []*http.Cookie{c})
	return len(jar.Cookies(&url.URL{Scheme: "https", Host: u.Host, Path: c.Path})) > 0
}

// fits reports whether the site has space for r in place of id.
func (s *site) fits(id cookieID, r record) bool {
	_, known := s.records[id]
	return r.size() <= maxCookieBytes && s.bytes+r.size()-s.recorded(id) <= maxSiteBytes &&
		(known || len(s.records) < maxSiteCookies)
}

func (s *site) recorded(id cookieID) int {
	if r, ok := s.records[id]; ok {
		return r.size()
	}
	return 0
}

// expire drops the records of expired cookies.
func (s *site) expire(now time.Time) {
	for id, r := range s.records {
		if !r.Expires.IsZero() && !r.Expires.After(now) {
			s.bytes -= r.size()
			delete(s.records, id)
		}
	}
}

// newRecord returns a record, with times and path made absolute.
func newRecord(u *url.URL, c *http.Cookie, now time.Time) record {
	kept := &http.Cookie{
		Name: c.Name, Value: c.Value, Quoted: c.Quoted, Path: c.Path, Domain: c.Domain,
		Expires: c.Expires, Secure: c.Secure, HttpOnly: c.HttpOnly,
	}
	if c.MaxAge > 0 {
		const year = 365 * 24 * 60 * 60 // more would overflow a duration
		kept.Expires = now.Add(time.Duration(min(c.MaxAge, year)) * time.Second)
	}
	if !strings.HasPrefix(kept.Path, "/") { // the default path, RFC 6265 section 5.1.4
		kept.Path = "/"
		if i := strings.LastIndexByte(u.Path, '/'); i > 0 {
			kept.Path = u.Path[:i]
		}
	}
	return record{kept}
}
