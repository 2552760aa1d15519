package admin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The lock of a guard guards the paces by address. Each request takes it briefly.

// Rate limits of one remote address over TCP.
const (
	requestsPerS  = 50
	requestsBurst = 200
	// wrongTokensBurst wrong tokens may be tried at once, then one every wrongTokenEvery.
	wrongTokensBurst = 10
	wrongTokenEvery  = time.Second
	// maxAddresses bounds the stored addresses; beyond it, quiet ones are dropped.
	maxAddresses = 4096
)

// guard checks requests over TCP before anything else does.
type guard struct {
	access *Access

	mu    sync.Mutex
	paces map[netip.Addr]*pace
}

// pace holds the rate limits of one remote address.
type pace struct {
	requests, wrongTokens *rate.Limiter
}

func newGuard(a *Access) *guard { return &guard{access: a, paces: map[netip.Addr]*pace{}} }

// judge returns the fault in the origin of a request, or nil.
func (g *guard) judge(r *http.Request) *Problem {
	if !g.knowsHost(r) {
		return newProblem(http.StatusForbidden, codeForbidden,
			"the Host header must name a loopback address, or a name of the service's certificate: this keeps web pages from reaching the service under another name")
	}
	if !sameSite(r) {
		return newProblem(http.StatusForbidden, codeForbidden, "requests from pages of other sites are refused")
	}
	if !g.paceOf(r.RemoteAddr).requests.Allow() {
		p := newProblem(http.StatusTooManyRequests, codeTooMany, "more than %d requests a second from one address: wait a moment", requestsPerS)
		p.retryAfter = 1
		return p
	}
	return nil
}

// who identifies the client of a request. A client that tries wrong tokens must wait, and learns nothing in the
// meantime.
func (g *guard) who(r *http.Request) (Caller, *Problem) {
	identify := func() (Caller, bool) {
		c, refused := g.access.caller(r)
		return c, !refused
	}
	if _, tried := bearer(r); tried {
		return g.attempt(r, identify)
	}
	c, _ := identify() // no token, no refusal
	return c, nil
}

// attempt calls identify, which tries the token of a request, unless too many wrong tokens came from its
// address. Then even the right token must wait.
func (g *guard) attempt(r *http.Request, identify func() (c Caller, known bool)) (Caller, *Problem) {
	wrongTokens := g.paceOf(r.RemoteAddr).wrongTokens
	if wrongTokens.Tokens() < 1 {
		p := newProblem(http.StatusTooManyRequests, codeTooMany, "too many wrong tokens from this address: wait a moment")
		p.retryAfter = int(wrongTokenEvery / time.Second)
		return Caller{}, p
	}
	c, known := identify()
	if !known {
		wrongTokens.Allow()
		return c, newProblem(http.StatusUnauthorized, codeNoToken, "this token is wrong: sextant token prints the path of the file with the right one")
	}
	return c, nil
}

// addressOf returns the address that counts for a remote end: an IPv6 network of 64 bits counts as one.
func addressOf(remote string) netip.Addr {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	address := ap.Addr().Unmap().WithZone("")
	if address.Is6() {
		network, _ := address.Prefix(64)
		address = network.Addr()
	}
	return address
}

// paceOf finds or creates the pace of an address.
func (g *guard) paceOf(remote string) *pace {
	address := addressOf(remote)
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.paces[address]
	if p == nil {
		if len(g.paces) >= maxAddresses {
			g.forget()
		}
		p = &pace{rate.NewLimiter(requestsPerS, requestsBurst), rate.NewLimiter(rate.Every(wrongTokenEvery), wrongTokensBurst)}
		g.paces[address] = p
	}
	return p
}

// forget drops the addresses that are within their limits again, or all if none is.
func (g *guard) forget() {
	for a, p := range g.paces {
		if p.requests.Tokens() >= requestsBurst && p.wrongTokens.Tokens() >= wrongTokensBurst {
			delete(g.paces, a)
		}
	}
	if len(g.paces) >= maxAddresses {
		clear(g.paces)
	}
}

// knowsHost reports whether the Host header names this service: a loopback address, the
// address that the connection came to, or a name of its certificate.
func (g *guard) knowsHost(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]")
	}
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(host); ip != nil {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		tcp, ok := local.(*net.TCPAddr)
		return ip.IsLoopback() || ok && tcp.IP.Equal(ip) && !tcp.IP.IsLoopback() || g.access.answersTo(host)
	}
	return g.access.answersTo(host)
}

// sameSite reports whether a request was made by a program or a page of this service, not by a page of another site.
// Programs send neither header. A link on another site may open a page.
func sameSite(r *http.Request) bool {
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		opened := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if !opened || strings.HasPrefix(r.URL.Path, "/api/") {
			return false
		}
	}
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	origin, err := url.Parse(values[0])
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return len(values) == 1 && err == nil && origin.Scheme == scheme && strings.EqualFold(origin.Host, r.Host)
}

// secure sets the headers that restrict a browser to displaying a response here.
func secure(h http.Header, tls bool) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	if tls {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// SignIn identifies the caller by a token that a user entered. Wrong tokens are counted by remote address together with
// those in headers. After a few wrong ones, even the right one must wait.
func (s *Server) SignIn(r *http.Request, token string) (Caller, *Problem) {
	c, p := s.guard.attempt(r, func() (Caller, bool) { return s.access.ByToken(token) })
	c.Remote = r.RemoteAddr
	return c, p
}
