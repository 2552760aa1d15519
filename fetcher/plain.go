package fetcher

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/fetcher/http1"
	"github.com/sextant-crawler/sextant/weburl"
)

// plain makes the requests that do not need net/http.
type plain struct {
	transport *http1.Transport
	header    []byte // of each request
}

// newPlain returns nil if no request of f is plain.
func newPlain(f *Fetcher, dial func(context.Context, string, string) (net.Conn, error)) *plain {
	s := f.settings
	if s.Proxy != nil || s.Pace != nil {
		return nil
	}
	header, ok := lines(f.header)
	if !ok {
		return nil
	}
	permitted := f.permitted
	if s.Permit == nil {
		permitted = nil
	}
	return &plain{header: header, transport: http1.New(http1.Settings{
		Dial: dial, Permitted: permitted, HeaderTimeout: s.FirstByteTimeout, BodyTimeout: s.IdleTimeout, MaxHeaderBytes: s.MaxHeaderBytes,
		MaxPerHost: s.MaxConnectionsPerHost, MaxIdle: idleConnections, IdleTime: idleConnectionTime,
	})}
}

// lines returns the lines of h in the order of net/http. ok is false if a value is not exactly one valid line, which
// net/http handles.
func lines(h http.Header) (out []byte, ok bool) {
	for name, values := range h {
		switch name {
		case "Connection", "Content-Length", "Expect", "Host", "Trailer", "Transfer-Encoding", "Upgrade":
			return nil, false
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, false
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, false
			}
		}
	}
	var b bytes.Buffer
	b.WriteString("User-Agent: " + strings.TrimSpace(h.Get("User-Agent")) + "\r\n")
	if err := h.WriteSubset(&b, map[string]bool{"User-Agent": true}); err != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// isPlain reports whether plain can make a request; net/http makes the others.
func (f *Fetcher) isPlain(r Request) bool {
	return f.plain != nil && r.Do == nil && r.URL.Scheme() == "http" &&
		http1.Sendable(r.URL.PathAndQuery()) && http1.SendableHost(authority(r.URL))
}

func authority(u weburl.URL) string { return u.Origin()[len(u.Scheme())+len("://"):] }

// getPlain is roundTrip for plain requests.
func (f *Fetcher) getPlain(ctx context.Context, r Request, start time.Time) (*Response, fault.Fault, error) {
	out := &Response{}
	get := http1.Request{
		Host: authority(r.URL), Target: r.URL.PathAndQuery(), Header: f.plain.header,
		Until: start.Add(f.settings.DownloadTimeout),
	}
	if sendable(r.ETag) {
		get.Fields[0] = http1.Field{Name: "If-None-Match", Value: r.ETag}
		out.Conditional = true
	}
	if sendable(r.LastModified) {
		get.Fields[1] = http1.Field{Name: "If-Modified-Since", Value: r.LastModified}
		out.Conditional = true
	}
	answer, err := f.plain.transport.Get(ctx, &get)
	if err != nil {
		if over := f.permitted(ctx); over != nil {
			err = over
		}
		return nil, classify(ctx, err), err
	}
	defer answer.Close()
	out.Status, out.Header, out.Address = answer.Status, answer.Header, ip(answer.Remote)
	return f.receive(ctx, r, out, &wire{ctx: ctx, body: answer}, answer.Length)
}
