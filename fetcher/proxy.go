package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// Proxy is a server through which all requests go. It looks up the names of the
// hosts itself, so that the guard sees only addresses that are written in URLs; what
// names may lead to is for the proxy's own rules to say. The proxy's own address may
// always be dialled.
//
// What an HTTP proxy says itself about an https URL, or SOCKS5 about any, is told
// from the host's answer for sure. For an http URL only by marks that not all proxies
// set (Proxy-Status, X-Squid-Error, Proxy-Authenticate, the status 407) and that a host
// may set, too: a 403 or 404 of the proxy's own without them is taken for the host's.
type Proxy struct {
	// URL is "http://host:port", "https://host:port" or "socks5://host:port"; the
	// port may be missing: 80, 443, 1080.
	URL string
	// User and Password are sent to the proxy (Basic, RFC 7617; RFC 1929) if User is
	// not empty. No error or log has them.
	User     string
	Password secret.Value
}

// Format is the form of every verb, lest fmt shows the password.
func (p Proxy) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.URL) }

var errProxyURL = errors.New("the proxy is not the URL of a proxy: write http://host:port, https://host:port or socks5://host:port")

// parse returns the proxy's URL with its credentials, and the address that is dialled.
func (p Proxy) parse() (u *url.URL, hostPort string, err error) {
	u, err = url.Parse(p.URL)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, "", errProxyURL // the error of url.Parse would show it all
	}
	port := map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
	if port == "" {
		return nil, "", errProxyURL
	}
	if u.Port() != "" {
		port = u.Port()
	}
	host := u.Hostname()
	if strings.IndexFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 { // as net/http dials it
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return nil, "", errProxyURL
		}
	}
	if p.User != "" {
		u.User = url.UserPassword(p.User, p.Password.Reveal())
	}
	return u, net.JoinHostPort(host, port), nil
}

// proxyError is what kept the proxy from passing a request on. Its fault is
// fault.Proxy: it says nothing about the page, and passes when the proxy or the
// configuration is put right. What a proxy says about a host (that it knows no such name,
// or gets no answer) is among it, because a proxy that lost its own way says the same.
type proxyError struct {
	status int    // of the proxy's answer, 0 if there was none
	said   string // by the answer about its cause
	err    error
}

func (e *proxyError) Error() string {
	switch {
	case e.status == http.StatusProxyAuthRequired:
		return "the proxy wants other credentials (407): set the proxy's user and password"
	case e.said != "":
		return fmt.Sprintf("the proxy answers itself: %d %s (%q)", e.status, http.StatusText(e.status), e.said)
	case e.status != 0:
		return fmt.Sprintf("the proxy does not connect: %d %s", e.status, http.StatusText(e.status))
	}
	return "proxy: " + e.err.Error()
}

func (e *proxyError) Unwrap() error { return e.err }

// viaProxy lets the transport go through the proxy, never around it.
func (f *Fetcher) viaProxy(d *dialer, p *Proxy) {
	u, hostPort, err := p.parse()
	d.proxy, f.absolute = hostPort, err == nil && u.Scheme != "socks5"
	f.transport.Proxy = func(*http.Request) (*url.URL, error) { return u, err }
	f.transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
		if resp.StatusCode != http.StatusOK {
			return &proxyError{status: resp.StatusCode}
		}
		return nil
	}
}

// admit judges a request that a proxy would pass on: of its host only an address
// can be known here.
func (f *Fetcher) admit(u *url.URL) error {
	a, err := netip.ParseAddr(u.Hostname())
	if f.settings.Proxy == nil || err != nil {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	try := attempt{dialer: f.dialer, exempt: f.dialer.exempt[net.JoinHostPort(u.Hostname(), port)]}
	if refused := try.judgeAddress(a); refused != nil {
		return refused
	}
	return nil
}

// byProxy tells apart what the proxy did and what the host did, in an error of a
// request for u. failed says that a handshake did inside of a tunnel.
func (f *Fetcher) byProxy(err error, u *url.URL, connected, failed bool) error {
	tunnel := !f.absolute || u.Scheme != "http"
	var own *refusedAddress
	var proxy *proxyError
	var op *net.OpError
	switch {
	case errors.As(err, &own):
		return err
	case errors.As(err, &proxy):
		return proxy
	case errors.As(err, &op) && op.Op == "proxyconnect", !connected && !failed:
	case !tunnel: // the host's answer would have come as one of the proxy's
	case !failed, classify(context.Background(), err) == fault.TLS, classify(context.Background(), err) == fault.Protocol:
		return err // a handshake is the host's but where the way broke off
	}
	return &proxyError{err: err}
}
