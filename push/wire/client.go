package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-cleanhttp"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/klauspost/compress/gzip"
	"golang.org/x/time/rate"

	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/internal/trace"
)

// MaxAnswer is the number of bytes read of a response unless a Request allows more: it contains numbers and error
// messages.
const MaxAnswer = 64 << 10

// Client makes the requests of a target. It is safe for concurrent use.
type Client struct {
	set     Settings
	base    string
	client  *retryablehttp.Client
	writers sync.Pool // of *gzip.Writer
}

// New checks the settings; it makes no request.
func New(s Settings) (*Client, error) {
	s.setDefaults()
	base, err := s.base()
	if err != nil {
		return nil, err
	}
	c := &Client{set: s, base: base, client: retryablehttp.NewClient()}
	c.writers.New = func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
		return w
	}
	c.client.Logger = nil // errors are logged once, by the relay
	c.client.RetryMax = s.Retries
	c.client.RetryWaitMin, c.client.RetryWaitMax = s.RetryWait, s.RetryWaitMax
	c.client.Backoff = backoff
	c.client.ErrorHandler = lastAnswer
	c.client.HTTPClient = &http.Client{
		Transport: s.transport(),
		// A redirected POST would become a GET, and its credentials go elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

func (s *Settings) transport() http.RoundTripper {
	next := s.Transport
	if next == nil {
		own := cleanhttp.DefaultPooledTransport()
		own.TLSClientConfig = &tls.Config{
			MinVersion: tls.VersionTLS12,
			RootCAs:    s.Roots, InsecureSkipVerify: s.InsecureTLS, //nolint:gosec // where the configuration says so, which is warned of
		}
		own.MaxIdleConnsPerHost = 100
		next = own
	}
	limits := &attempts{next: next, timeout: s.Timeout}
	if s.MaxRequestsPerS > 0 {
		limits.rate = rate.NewLimiter(rate.Limit(s.MaxRequestsPerS), 1)
	}
	return limits
}

// attempts limits the rate of requests, including repetitions, and aborts those without data for Timeout, before the
// headers or within the body.
type attempts struct {
	next    http.RoundTripper
	timeout time.Duration
	rate    *rate.Limiter
}

// errSilent is a timeout, with a message for the operator.
type errSilent struct{ after time.Duration }

func (e errSilent) Error() string { return fmt.Sprintf("the server sent nothing for %s", e.after) }

// RoundTrip implements http.RoundTripper.
func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.rate != nil {
		if err := a.rate.Wait(r.Context()); err != nil {
			return nil, err
		}
	}
	ctx, err := permitted(r.Context())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(a.timeout, func() { cancel(errSilent{a.timeout}) })
	resp, err := a.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		timer.Stop()
		err = silence(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &patience{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: timer, timeout: a.timeout}
	return resp, nil
}

// permitted returns a context under which a request is sent only if it is still permitted at that moment, because the
// DNS lookup and connecting take time.
func permitted(ctx context.Context) (context.Context, error) {
	if err := permit.Check(ctx); err != nil || !permit.Asked(ctx) {
		return ctx, err
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if !permit.May(ctx) {
			_ = i.Conn.Close() // the request fails by that
		}
	}}), nil
}

// CloseIdleConnections implements the method that http.Client calls.
func (a *attempts) CloseIdleConnections() {
	if c, ok := a.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// silence returns err, or the reason why attempts ended the context.
func silence(ctx context.Context, err error) error {
	if silent, ok := errors.AsType[errSilent](context.Cause(ctx)); ok {
		return silent
	}
	return err
}

// patience is a body with a limit on the time without data.
type patience struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the request that the body belongs to
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	timeout time.Duration
}

// Read implements io.Reader.
func (p *patience) Read(b []byte) (int, error) {
	p.timer.Reset(p.timeout)
	n, err := p.ReadCloser.Read(b)
	p.timer.Stop() // a slow reader is not the server's silence
	if err != nil && !errors.Is(err, io.EOF) {
		err = silence(p.ctx, err)
	}
	return n, err
}

// Close also ends the request.
func (p *patience) Close() error {
	p.timer.Stop()
	defer p.cancel(nil)
	return p.ReadCloser.Close()
}

// backoff returns the pause of retryablehttp (Retry-After, or doubling) within bounds, with jitter if the server sent
// no Retry-After.
func backoff(first, most time.Duration, attempt int, resp *http.Response) time.Duration {
	if resp != nil && resp.Header.Get("Retry-After") != "" {
		wait := retryablehttp.DefaultBackoff(first, most, attempt, resp)
		if wait < 0 { // more seconds than a Duration has
			wait = most
		}
		return min(wait, most)
	}
	wait := retryablehttp.DefaultBackoff(first, most, attempt, nil)
	return wait/2 + rand.N(wait/2+1)
}

// lastAnswer returns the last response when retries are used up, so that its message can be reported.
func lastAnswer(resp *http.Response, err error, _ int) (*http.Response, error) {
	if err != nil && resp != nil {
		_ = resp.Body.Close() // the context ended: err is the result
		return nil, err
	}
	return resp, err
}

// Close drops idle connections.
func (c *Client) Close() { c.client.HTTPClient.CloseIdleConnections() }

// Pause waits as long as before a repetition; attempt counts from 0. It returns early with the error of ctx.
func (c *Client) Pause(ctx context.Context, attempt int) error {
	timer := time.NewTimer(backoff(c.set.RetryWait, c.set.RetryWaitMax, attempt, nil))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Retries returns the number of times that a request is repeated.
func (c *Client) Retries() int { return c.set.Retries }

// Request is one command. It must be idempotent, because it may be repeated.
type Request struct {
	Name        string // for errors
	Method      string
	Path        string // below the URL of the settings, escaped, with its slash
	Query       url.Values
	ContentType string
	Body        []byte
	Header      http.Header // additional header fields
	MaxAnswer   int64       // bytes read of the response; 0: MaxAnswer
}

// Do makes a request with retries and returns the body of a response with status 2xx. Others are returned as a
// *StatusError.
func (c *Client) Do(ctx context.Context, r Request) ([]byte, error) {
	body, err := c.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	most := r.MaxAnswer
	if most <= 0 {
		most = MaxAnswer
	}
	answer, err := io.ReadAll(io.LimitReader(body, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: reading the response: %w", r.Name, withoutURL(err))
	case int64(len(answer)) > most:
		return nil, fmt.Errorf("%s: the response is longer than %d bytes: is url the address of the indexer?", r.Name, most)
	}
	return answer, nil
}

// Open is Do for a response of any length. The caller closes it.
func (c *Client) Open(ctx context.Context, r Request) (body io.ReadCloser, err error) {
	ctx, span := trace.Start(ctx, "push")
	span.Text("http.request.method", r.Method)
	span.Text("url.path", r.Path)
	defer func() { span.End(err) }()
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, withoutURL(err))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, withoutURL(err))
	}
	span.Number("http.response.status_code", resp.StatusCode)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer)) // the status is enough
	return nil, &StatusError{Name: r.Name, Status: resp.StatusCode, Body: answer, Words: Words(answer)}
}

func (c *Client) request(ctx context.Context, r Request) (*retryablehttp.Request, error) {
	address := c.base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	body := r.Body
	if c.set.Gzip && len(body) > 0 {
		body = c.compress(body)
	}
	var content any
	if body != nil {
		content = body
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, r.Method, address, content)
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	if c.set.Gzip && len(r.Body) > 0 {
		req.Header.Set("Content-Encoding", "gzip")
	}
	for _, h := range c.set.Headers {
		req.Header.Set(h.Name, h.Value.Reveal())
	}
	if c.set.User != "" {
		req.SetBasicAuth(c.set.User, c.set.Password.Reveal())
	}
	return req, nil
}

func (c *Client) compress(body []byte) []byte {
	w := c.writers.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool's own
	defer c.writers.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, _ = w.Write(body) // into memory: no error
	_ = w.Close()
	return out.Bytes()
}

// withoutURL removes the URL from err, because it may be very long.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// Segment escapes a name for use in a path; it refuses names such as "..".
func Segment(what, name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%s %q: write the name that it has on the server", what, name)
	}
	return url.PathEscape(name), nil
}
