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

// Proxy is a server through which all requests go. It looks up the names of the hosts itself, so the guard sees only
// addresses that are written in URLs; the proxy's own rules decide where names may lead. The proxy's own address may
// always be dialled.
//
// An HTTP proxy's own responses to an https URL, and SOCKS5's to any, are reliably distinguished from the host's. For
// an http URL this depends on marks that not all proxies set (Proxy-Status, X-Squid-Error, Proxy-Authenticate, the
// status 407) and that a host may set, too: a proxy's own 403 or 404 without them counts as the host's.
type Proxy struct {
	// URL is "http://host:port", "https://host:port" or "socks5://host:port"; the port defaults to 80, 443 or 1080.
	URL string
	// User and Password are sent to the proxy (Basic, RFC 7617; RFC 1929) if User is not empty. No error or log
	// contains them.
	User     string
	Password secret.Value
}

// Format writes the same for every verb, so that fmt never shows the password.
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

// proxyError is a proxy's failure to pass a request on. Its fault is fault.Proxy: it does not concern the page, and
// ends when the proxy or the configuration is repaired. It includes a proxy's reports about a host (unknown name, no
// response), because a proxy that lost its own connection reports the same.
type proxyError struct {
	status int    // of the proxy's response, 0 if there was none
	reason string // the response's text about its cause
	err    error
}

func (e *proxyError) Error() string {
	switch {
	case e.status == http.StatusProxyAuthRequired:
		return "the proxy requires other credentials (407): set the proxy's user and password"
	case e.reason != "":
		return fmt.Sprintf("the proxy itself responds: %d %s (%q)", e.status, http.StatusText(e.status), e.reason)
	case e.status != 0:
		return fmt.Sprintf("the proxy refuses to connect: %d %s", e.status, http.StatusText(e.status))
	}
	return "proxy: " + e.err.Error()
}

func (e *proxyError) Unwrap() error { return e.err }

// viaProxy makes the transport use the proxy for all requests.
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

// admit checks a request that a proxy would pass on: here the host is known only if it is an address.
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

// byProxy separates the proxy's failures from the host's in an error of a request for u. failed is set if a handshake
// inside a tunnel failed.
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
	case !tunnel: // the host's response would have come as one of the proxy's
	case !failed, classify(context.Background(), err) == fault.TLS, classify(context.Background(), err) == fault.Protocol:
		return err // a handshake is the host's unless the connection broke off
	}
	return &proxyError{err: err}
}
