package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// inFetch is the key of a context in which Fetch makes its request.
type inFetch struct{}

// requestTrace records how a request went.
type requestTrace struct {
	fetcher   *Fetcher
	conn      net.Conn    // of the last request
	handshake atomic.Bool // set if a handshake inside a proxy's tunnel failed, by the goroutine that dials
	hooks     httptrace.ClientTrace
}

// trace returns ctx with the hooks that fill w.
func (f *Fetcher) trace(ctx context.Context, w *requestTrace) context.Context {
	w.hooks.GotConn = func(i httptrace.GotConnInfo) { w.got(i.Conn) }
	if f.settings.Proxy != nil {
		w.hooks.GotConn = func(i httptrace.GotConnInfo) {
			w.got(i.Conn)
			if c := lowest(i.Conn); c != nil {
				c.inUse()
			}
		}
		w.hooks.TLSHandshakeDone = func(_ tls.ConnectionState, err error) {
			if err != nil {
				w.handshake.Store(true)
			}
		}
	}
	return httptrace.WithClientTrace(ctx, &w.hooks)
}

// got records the connection of a request that is about to be sent. Lookup and connecting took time, so it checks the
// permit once more: nothing can be sent over a closed connection.
func (w *requestTrace) got(c net.Conn) {
	w.conn = c
	if p := w.fetcher.settings.Permit; p != nil && !p.May() {
		if watched := lowest(c); watched != nil {
			watched.refused.Store(true)
		}
		_ = c.Close() // the request then fails, and send has the reason
	}
}

// refused reports whether the last request had a connection that another request had to close without a permit. An
// HTTP/2 client hands out such a connection until it has noticed.
func (w *requestTrace) refused() bool {
	if w.conn == nil {
		return false
	}
	watched := lowest(w.conn)
	return watched != nil && watched.refused.Load()
}

// exchange makes the request of a Fetch, by its own Do if it has one.
func (f *Fetcher) exchange(ctx context.Context, w *requestTrace, req *http.Request, r Request) (*http.Response, fault.Fault, error) {
	if r.Do == nil {
		return f.send(ctx, w, req.WithContext(ctx))
	}
	ctx = context.WithValue(ctx, inFetch{}, w)
	req.Header = req.Header.Clone() // Do may add to it
	req.URL.Path = r.URL.Path()     // for cookies; Opaque holds what is sent
	if path, err := url.PathUnescape(r.URL.Path()); err == nil {
		req.URL.Path = path
	}
	resp, err := r.Do(ctx, req.WithContext(ctx))
	if err == nil {
		return resp, 0, nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return nil, known.Fault, known.Err
	}
	return nil, classify(ctx, err), err
}

// send makes one round trip.
func (f *Fetcher) send(ctx context.Context, w *requestTrace, req *http.Request) (*http.Response, fault.Fault, error) {
	err := f.admit(req.URL)
	var resp *http.Response
	if err == nil {
		err = f.permitted(ctx)
	}
	if err == nil {
		resp, err = f.overLive(ctx, w, req)
	}
	if err == nil {
		page := f.proxyPage(req.URL, resp)
		if page == nil {
			return resp, 0, nil
		}
		_ = resp.Body.Close()
		err = page
	}
	failed := w.handshake.Load()
	if f.settings.Proxy != nil {
		err = f.byProxy(err, req.URL, w.conn != nil, failed)
	}
	why := classify(ctx, err)
	switch {
	case why == fault.Protocol && w.conn != nil && hasEnded(w.conn):
		why = fault.Reset
	case why == fault.Protocol && failed:
		why = fault.TLS
	}
	return nil, why, err
}

// overLive makes a round trip of the transport, and repeats it if the connection was closed before anything was sent.
func (f *Fetcher) overLive(ctx context.Context, w *requestTrace, req *http.Request) (*http.Response, error) {
	for {
		resp, err := f.transport.RoundTrip(f.addressed(req))
		if err == nil {
			return resp, nil
		}
		if over := f.permitted(ctx); over != nil {
			return nil, over
		}
		if !w.refused() || ctx.Err() != nil {
			return nil, err
		}
		w.conn = nil
		if req.Body != nil && req.Body != http.NoBody {
			if req.GetBody == nil {
				return nil, err
			}
			again := *req
			if again.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
			req = &again
		}
	}
}

// permitted returns an error, once ctx has ended, if the request must not be made.
func (f *Fetcher) permitted(ctx context.Context) error {
	if f.settings.Permit == nil {
		return nil
	}
	return permit.Check(ctx)
}

// addressed returns req in the form that is sent: a proxy needs scheme and host, also if Opaque holds what is sent. The
// caller, which stores cookies by the URL or signs it, does not see the difference.
func (f *Fetcher) addressed(req *http.Request) *http.Request {
	if !f.absolute || req.URL.Scheme != "http" || !strings.HasPrefix(req.URL.Opaque, "/") || strings.HasPrefix(req.URL.Opaque, "//") {
		return req
	}
	u, out := *req.URL, *req
	u.Opaque, out.URL = "//"+u.Host+u.Opaque, &u
	return &out
}

// Do makes one request of any method, with User-Agent, From and Accept unless req has them, and follows no redirect.
// Settings.Header is not added: it is meant for the hosts that are crawled, and a caller of Do may contact others. The
// body is decoded, ends at MaxBodyBytes, and must be closed; DownloadTimeout lasts until then. An error, also of
// reading the body, is an *Error, or that of ctx if ctx ended. Under the context of a Request.Do it makes a round trip
// of that Fetch, by the Fetcher whose Fetch it is, which decodes and bounds the body itself.
func (f *Fetcher) Do(ctx context.Context, req *http.Request) (*http.Response, error) {
	w, inside := ctx.Value(inFetch{}).(*requestTrace)
	if inside {
		f = w.fetcher
	}
	header := req.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for _, name := range [...]string{"User-Agent", "From", "Accept"} {
		if values, set := f.header[name]; set && header[name] == nil {
			header[name] = values
		}
	}
	// This Fetcher decodes, even if the caller requested another coding.
	header["Accept-Encoding"] = f.header["Accept-Encoding"]
	if inside {
		req = req.WithContext(ctx)
		req.Header = header
		w.conn = nil
		resp, why, err := f.send(ctx, w, req)
		if err != nil {
			return nil, &Error{URL: req.URL.Redacted(), Fault: why, Err: err}
		}
		return resp, nil
	}
	return f.do(ctx, req, header)
}

func (f *Fetcher) do(ctx context.Context, req *http.Request, header http.Header) (*http.Response, error) {
	ctx, leave, err := permit.Begin(ctx, f.settings.Permit)
	if err != nil {
		return nil, err
	}
	own, cancel := context.WithCancelCause(ctx)
	whole := newDownload(time.Now().Add(f.settings.DownloadTimeout), cancel)
	w := &requestTrace{fetcher: f}
	req = req.WithContext(f.trace(own, w))
	req.Header = header
	b := &ownedBody{ctx: ctx, own: own, leave: leave, whole: whole, url: req.URL.Redacted(), left: f.settings.MaxBodyBytes}
	resp, why, err := f.send(own, w, req)
	if err != nil {
		err = b.failed(why, err)
		b.end()
		return nil, err
	}
	b.closer = resp.Body
	b.wire = &wire{ctx: own, body: resp.Body, idle: f.settings.IdleTimeout, pace: f.settings.Pace, whole: whole}
	b.wire.timer = time.AfterFunc(b.wire.idle, func() { cancel(errIdle) })
	b.wire.timer.Stop() // runs during reads
	b.source = b.wire
	if codings := contentCodings(resp.Header); len(codings) > 0 && req.Method != http.MethodHead {
		b.open = func() (io.Reader, func(), error) { return f.decoders.open(own, codings, b.wire) }
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength, resp.Uncompressed = -1, true
	}
	resp.Body = b
	return resp, nil
}

// ownedBody is the body of a response from Do: decoded and bounded. It is used by one goroutine.
type ownedBody struct {
	ctx, own context.Context
	leave    context.CancelFunc // of the permit
	whole    *download
	url      string
	closer   io.Closer
	wire     *wire
	open     func() (io.Reader, func(), error) // called at the first read
	release  func()
	source   io.Reader
	left     int64
}

func (b *ownedBody) Read(p []byte) (int, error) {
	if b.open != nil {
		source, release, err := b.open()
		b.open, b.release = nil, release
		if err != nil {
			source = failing{err}
		}
		b.source = source
	}
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.source.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.failed(b.wire.fault(b.own, err), err)
	}
	return n, err
}

// failed returns the error for the caller.
func (b *ownedBody) failed(why fault.Fault, err error) error {
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	if cause := context.Cause(b.own); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return &Error{URL: b.url, Fault: why, Err: err}
}

// Close ends the request, even if its response was not read.
func (b *ownedBody) Close() error {
	err := b.closer.Close()
	if b.release != nil {
		b.release()
		b.release, b.source, b.open = nil, failing{http.ErrBodyReadAfterClose}, nil
	}
	b.end()
	return err
}

func (b *ownedBody) end() {
	if b.wire != nil {
		b.wire.timer.Stop()
	}
	b.whole.timer.Stop()
	b.whole.cancel(nil)
	b.leave()
}

// failing is a reader that returns its error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
