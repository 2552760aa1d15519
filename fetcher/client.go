package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/weburl"
)

// idleConnections are kept open over all hosts, each for idleConnectionTime: with seconds between two requests to a
// host, reuse is still worthwhile.
const (
	idleConnections    = 1024
	idleConnectionTime = 90 * time.Second
)

// Fetcher fetches URLs. It is safe for concurrent use.
type Fetcher struct {
	settings  Settings
	header    http.Header // of each unconditional request; never written
	transport *http.Transport
	plain     *plain // nil: no request is plain
	dialer    *dialer
	absolute  bool // a proxy needs scheme and host (RFC 9112 section 3.2.2)
	decoders  decoders
	scratch   sync.Pool // *[]byte
	bodies    sync.Pool // *[]byte, of released responses
	logger    *slog.Logger
}

// New returns a Fetcher. It ignores the environment's proxies.
func New(s Settings, logger *slog.Logger) *Fetcher {
	s = s.withDefaults()
	d := newDialer(s)
	f := &Fetcher{settings: s, header: s.header(), dialer: d, logger: logger}
	config := tlsConfig(s)
	f.transport = &http.Transport{
		DialContext:            d.dial,
		DialTLSContext:         dialTLS(d, s, config),
		TLSClientConfig:        config.Clone(), // for tunnels through a proxy
		TLSHandshakeTimeout:    s.TLSTimeout,
		ForceAttemptHTTP2:      !s.HTTP1,
		DisableCompression:     true, // decoded here, with a limit
		MaxConnsPerHost:        s.MaxConnectionsPerHost,
		MaxIdleConnsPerHost:    s.MaxConnectionsPerHost,
		MaxIdleConns:           idleConnections,
		IdleConnTimeout:        idleConnectionTime,
		ResponseHeaderTimeout:  s.FirstByteTimeout,
		MaxResponseHeaderBytes: s.MaxHeaderBytes,
		// A server that reads nothing would keep the connection, and a goroutine of each request that waits to write on
		// it.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: s.IdleTimeout},
	}
	if s.HTTP1 {
		f.transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	if s.Proxy != nil {
		f.viaProxy(d, s.Proxy)
	}
	f.plain = newPlain(f, d.dial)
	return f
}

func tlsConfig(s Settings) *tls.Config {
	c := &tls.Config{
		RootCAs: s.Roots, Certificates: s.Certificates,
		InsecureSkipVerify: s.InsecureTLS, // the operator's choice
		NextProtos:         []string{"h2", "http/1.1"},
	}
	if s.HTTP1 {
		c.NextProtos = c.NextProtos[1:]
	}
	return c
}

// dialTLS performs the handshake itself, so that its errors are recognized.
func dialTLS(d *dialer, s Settings, config *tls.Config) func(ctx context.Context, network, hostPort string) (net.Conn, error) {
	return func(ctx context.Context, network, hostPort string) (net.Conn, error) {
		conn, err := d.dial(ctx, network, hostPort)
		if err != nil {
			return nil, err
		}
		c := config.Clone()
		c.ServerName, _, _ = net.SplitHostPort(hostPort)
		if hostPort == d.proxy {
			c.Certificates, c.NextProtos = nil, []string{"http/1.1"}
			c.InsecureSkipVerify = false // that choice is about sites, and the proxy receives a password
		}
		secure := tls.Client(conn, c)
		ctx, cancel := context.WithTimeout(ctx, s.TLSTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close() // the handshake's error is the one to report
			return nil, &tlsError{err}
		}
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return secure, nil // net/http needs this type
		}
		return &watchedConn{Conn: secure}, nil // TLS ends streams explicitly
	}
}

// Close closes the connections that no request uses.
func (f *Fetcher) Close() {
	f.transport.CloseIdleConnections()
	if f.plain != nil {
		f.plain.transport.CloseIdle()
	}
}

// Fetch makes one GET request, follows no redirect, and reads the body to its end or limit. The error is an *Error, or
// that of ctx if ctx ended. A response with a status other than 2xx is not an error: its body is cut at 64 KiB, and a
// fault in the body does not invalidate the status.
func (f *Fetcher) Fetch(ctx context.Context, r Request) (*Response, error) {
	if r.URL.IsZero() {
		return nil, &Error{Fault: fault.Protocol, Err: errors.New("the URL is missing")}
	}
	ctx, end, err := permit.Begin(ctx, f.settings.Permit)
	if err != nil {
		return nil, err
	}
	defer end()
	start := time.Now()
	get := f.roundTrip
	if f.isPlain(r) {
		get = f.getPlain
	}
	resp, why, err := get(ctx, r, start)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &Error{URL: r.URL.String(), Fault: why, Err: err}
	}
	resp.Duration = time.Since(start)
	if f.logger.Enabled(ctx, slog.LevelDebug) {
		f.logger.DebugContext(ctx, "fetched", "url", r.URL.String(), "status", resp.Status,
			"bytes", len(resp.Body), "truncated", resp.Truncated, "duration", resp.Duration)
	}
	return resp, nil
}

// roundTrip makes a request with net/http.
func (f *Fetcher) roundTrip(ctx context.Context, r Request, start time.Time) (resp *Response, why fault.Fault, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole := newDownload(start.Add(f.settings.DownloadTimeout), cancel)
	defer whole.timer.Stop()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
	}()
	out := &Response{}
	trace := &requestTrace{fetcher: f}
	header, conditional := f.requestHeader(r)
	out.Conditional = conditional
	req := &http.Request{
		Method: http.MethodGet,
		URL:    target(r.URL),
		Header: header,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	answer, why, err := f.exchange(f.trace(ctx, trace), trace, req, r)
	if err != nil {
		return nil, why, err
	}
	defer func() { _ = answer.Body.Close() }() // everything needed was read
	out.Status, out.Header, out.Address = answer.StatusCode, answer.Header, ip(trace.conn.RemoteAddr())
	length := answer.ContentLength
	if answer.Body == http.NoBody {
		length = 0
	}
	w := &wire{ctx: ctx, body: answer.Body, idle: f.settings.IdleTimeout, pace: f.settings.Pace, whole: whole}
	return f.receive(ctx, r, out, w, length)
}

// receive reads the body of a response.
func (f *Fetcher) receive(ctx context.Context, r Request, out *Response, w *wire, length int64) (*Response, fault.Fault, error) {
	if r.Lend {
		out.lender = &f.bodies
	}
	if v := out.Header.Get("Retry-After"); v != "" {
		out.RetryAfter, out.HasRetryAfter = retryAfter(v, time.Now())
	}
	if r.Refuse != nil && r.Refuse(out.Status, out.Header) {
		out.Refused = true
		return out, 0, nil
	}
	limit := f.settings.MaxBodyBytes
	if r.MaxBodyBytes > 0 {
		limit = r.MaxBodyBytes
	}
	if r.Limit != nil {
		if own := r.Limit(out.Header); own > 0 {
			limit = own
		}
	}
	ok := out.Status/100 == 2
	if !ok {
		limit = min(limit, errorBodyBytes)
	}
	var why fault.Fault
	var err error
	out.Body, out.Truncated, why, err = f.readBody(ctx, w, out.Header, length, limit, r.Lend)
	if err != nil && ok {
		return nil, why, err
	}
	return out, 0, nil
}

// requestHeader returns the shared header, or a copy with the conditions. It omits a validator that is invalid as a
// header value.
func (f *Fetcher) requestHeader(r Request) (http.Header, bool) {
	etag, modified := sendable(r.ETag), sendable(r.LastModified)
	if !etag && !modified {
		return f.header, false
	}
	h := f.header.Clone()
	if etag {
		h.Set("If-None-Match", r.ETag)
	}
	if modified {
		h.Set("If-Modified-Since", r.LastModified)
	}
	return h, true
}

func sendable(value string) bool {
	return value != "" && strings.IndexFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) < 0
}

// target returns u in a form that is sent byte by byte as written. Only a path that begins with two slashes must be
// decoded, so that it is not read as a host.
func target(u weburl.URL) *url.URL {
	t := &url.URL{Scheme: u.Scheme(), Host: u.Origin()[len(u.Scheme())+len("://"):]}
	if path := u.Path(); strings.HasPrefix(path, "//") {
		if decoded, err := url.PathUnescape(path); err == nil {
			t.Path, t.RawPath, t.RawQuery = decoded, path, u.Query()
			return t
		}
		t.Opaque = "//" + t.Host + u.PathAndQuery()
		return t
	}
	t.Opaque = u.PathAndQuery()
	return t
}
