package fetcher

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// Settings configures a Fetcher. A zero field takes the value of DefaultSettings.
type Settings struct {
	// UserAgent should name the crawler and a page or address of its owner; see the function UserAgent.
	UserAgent string
	// From is the mail address of the crawl's owner (RFC 9110 section 10.1.2), not sent if empty.
	From string
	// Accept is the header of this name.
	Accept string
	// Header is sent with each request. Fields that the fetcher sets itself (User-Agent, Accept-Encoding, the
	// conditions) have precedence.
	Header http.Header

	// ConnectTimeout limits looking up the name and connecting, TLSTimeout the handshake, FirstByteTimeout the wait
	// between the request and the complete header of its response, IdleTimeout the wait for each next byte of the body,
	// DownloadTimeout everything together.
	ConnectTimeout, TLSTimeout, FirstByteTimeout, IdleTimeout, DownloadTimeout time.Duration

	// MaxHeaderBytes limits the header of a response, interim responses included.
	MaxHeaderBytes int64
	// MaxBodyBytes limits the decoded body; longer ones are cut.
	MaxBodyBytes int64
	// MaxConnectionsPerHost limits the connections to one scheme, host and port.
	MaxConnectionsPerHost int

	// Exempt are the "host:port" (net.JoinHostPort of weburl.URL's Host and Port) at which otherwise refused addresses
	// are allowed: loopback, link-local, multicast, unspecified. Metadata addresses of clouds stay refused. Hosts other
	// than addresses and localhost are ignored, since DNS decides where a name leads.
	Exempt []string
	// Judge, if not nil, is called for each address before it is dialled, ahead of the built-in refusals: matched is
	// true if it decides, words names its rule. An address that it allows is refused only if it is a cloud's metadata
	// address. It is called concurrently.
	Judge func(a netip.Addr) (allowed, matched bool, words string)
	// DenyPrivate refuses, in any written form of IPv6, addresses of private networks (RFC 1918, RFC
	// 4193), of carrier-grade NAT (RFC 6598), loopback and link-local ones that Judge does not allow, also those of
	// Exempt. As with other refusals the fault is fault.Address, since names may be misdirected for a while.
	DenyPrivate bool
	// Pace, if not nil, is called with the length of each piece of a body, as received, and may block: nothing is read
	// until it returns, and none of the time limits above runs. An error ends the request; it should be that of ctx. It
	// is called concurrently.
	Pace func(ctx context.Context, n int) error
	// Permit is checked before each request, which ends when the permit does; nil: no check. A request that is refused
	// or cut by it returns the error of an ended ctx.
	Permit permit.Permit
	// Roots verify servers; nil: the system's.
	Roots *x509.CertPool
	// InsecureTLS accepts any certificate of a server, but not of a proxy: others on the path can then read and change
	// the traffic.
	InsecureTLS bool
	// Certificates are presented to servers that ask for one (RFC 8446 section
	// 4.4.2), not to a proxy.
	Certificates []tls.Certificate
	// HTTP1 disables HTTP/2.
	HTTP1 bool
	// Proxy is the proxy for all requests; nil: none.
	Proxy *Proxy
	// Resolver looks names up, always with Go's own resolver; nil: the system's servers.
	Resolver *net.Resolver
	// Connect, if not nil, makes the connections in place of the system, to addresses that were looked up and checked
	// as usual. An in-memory network uses it. It is called concurrently.
	Connect func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// Names caches lookups, and may be shared; nil: one for this Fetcher only.
	Names *Names
}

// DefaultSettings returns the documented defaults.
func DefaultSettings() Settings {
	return Settings{
		UserAgent:             "Sextant",
		Accept:                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		ConnectTimeout:        10 * time.Second,
		TLSTimeout:            10 * time.Second,
		FirstByteTimeout:      30 * time.Second,
		IdleTimeout:           30 * time.Second,
		DownloadTimeout:       5 * time.Minute,
		MaxHeaderBytes:        256 << 10,
		MaxBodyBytes:          10 << 20,
		MaxConnectionsPerHost: 6,
	}
}

// UserAgent returns the customary form of a crawler's user agent, "Sextant/1.0
// (+https://example.com/bot)". An empty part is left out.
func UserAgent(version, contact string) string {
	s := "Sextant"
	if version != "" {
		s += "/" + version
	}
	if contact != "" {
		s += " (+" + contact + ")"
	}
	return s
}

func (s Settings) withDefaults() Settings {
	d := DefaultSettings()
	s.ConnectTimeout, s.TLSTimeout = cmp.Or(max(s.ConnectTimeout, 0), d.ConnectTimeout), cmp.Or(max(s.TLSTimeout, 0), d.TLSTimeout)
	s.FirstByteTimeout, s.IdleTimeout = cmp.Or(max(s.FirstByteTimeout, 0), d.FirstByteTimeout), cmp.Or(max(s.IdleTimeout, 0), d.IdleTimeout)
	s.DownloadTimeout = cmp.Or(max(s.DownloadTimeout, 0), d.DownloadTimeout)
	if s.Names == nil {
		s.Names = NewNames()
	}
	s.UserAgent, s.Accept = cmp.Or(s.UserAgent, d.UserAgent), cmp.Or(s.Accept, d.Accept)
	s.MaxHeaderBytes, s.MaxBodyBytes = cmp.Or(max(s.MaxHeaderBytes, 0), d.MaxHeaderBytes), cmp.Or(max(s.MaxBodyBytes, 0), d.MaxBodyBytes)
	s.MaxConnectionsPerHost = cmp.Or(max(s.MaxConnectionsPerHost, 0), d.MaxConnectionsPerHost)
	return s
}

// header returns the header of each request.
func (s Settings) header() http.Header {
	h := s.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("User-Agent", s.UserAgent)
	h.Set("Accept", s.Accept)
	h.Set("Accept-Encoding", acceptEncoding)
	if s.From != "" {
		h.Set("From", s.From)
	}
	return h
}
