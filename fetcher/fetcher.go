// Package fetcher fetches one URL over HTTP: limits, time-outs, conditional GET, the address guard, and error classes.
// It follows no redirect and makes no decisions.
//
// A Fetcher owns its connections: those of net/http, and those of http1, for plain requests. It starts no goroutine
// except those of these two. The locks of the package are held briefly, never over a request: those of Names and of the
// addresses of one dial.
package fetcher

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

// Request is one GET.
type Request struct {
	URL weburl.URL
	// ETag and LastModified make the request conditional, each if not empty
	// (LastModified goes out as If-Modified-Since).
	ETag, LastModified string
	// MaxBodyBytes, if above 0, replaces the fetcher's limit.
	MaxBodyBytes int64
	// Limit, if not nil, is called before the body is read: its result, if above 0, replaces MaxBodyBytes.
	Limit func(header http.Header) int64
	// Refuse, if not nil, is called before the body is read; if it returns true, the body is not read.
	Refuse func(status int, header http.Header) bool
	// Lend is set if the caller releases the response: its body may reuse the memory of another one.
	Lend bool
	// Do, if not nil, makes the request, for example to log in with it (auth.Step.Do). It must make its requests, any
	// number of them, by the Fetcher's own Do, with the context that it receives; the last response counts.
	Do func(ctx context.Context, req *http.Request) (*http.Response, error)
}

// Response is an HTTP response whose body was read to its end or to the limit.
type Response struct {
	Status      int
	Header      http.Header
	Body        []byte     // decoded from its content encoding
	Truncated   bool       // the body was cut at the limit
	Refused     bool       // Request.Refuse left the body unread
	Conditional bool       // the request carried validators
	Address     netip.Addr // the address that responded
	// RetryAfter is the header in either of its forms, from now; HasRetryAfter is set if it was present and valid.
	// Capped at a day.
	RetryAfter    time.Duration
	HasRetryAfter bool
	Duration      time.Duration

	lender *sync.Pool // receives Body on Release; nil: none
}

// Release returns Body for reuse, if it was lent: the caller must not keep a slice of it. The garbage collector frees a
// body that is not released.
func (r *Response) Release() {
	if r.lender == nil {
		return
	}
	if body := r.Body[:0]; cap(body) >= lentBytes && cap(body) <= scratchBytes {
		r.lender.Put(&body)
	}
	r.Body, r.lender = nil, nil
}

// Error is a request without a usable response.
type Error struct {
	URL   string
	Fault fault.Fault
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
