// Package fetcher gets one URL over HTTP: limits, time-outs, conditional GET,
// the judge of addresses, and error classes. It follows no redirect and decides
// nothing.
//
// A Fetcher owns its connections: those of net/http, and those of http1, by which plain requests go. It starts no
// goroutine but those of these two. The locks
// of the package are held for moments, never over a request: those of Names and of the
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
	// MaxBodyBytes, if above 0, is this request's limit instead of the fetcher's.
	MaxBodyBytes int64
	// Limit, if not nil, is called before the body is read: what it returns, if above
	// 0, is the limit in place of MaxBodyBytes.
	Limit func(header http.Header) int64
	// Refuse, if not nil, is asked before the body is read; with true it stays unread.
	Refuse func(status int, header http.Header) bool
	// Lend says that the caller releases the response: its body may stand where that of
	// another one stood.
	Lend bool
	// Do, if not nil, makes the request, for example to log in with it (auth.Step.Do).
	// It must make its requests, any number of them, by the Fetcher's own Do, with
	// the context that it is given; the answer to the last of them counts.
	Do func(ctx context.Context, req *http.Request) (*http.Response, error)
}

// Response is an HTTP answer whose body was read to its end or to the limit.
type Response struct {
	Status      int
	Header      http.Header
	Body        []byte     // decoded from its content encoding
	Truncated   bool       // the body was cut at the limit
	Refused     bool       // Request.Refuse left the body unread
	Conditional bool       // the request carried validators
	Address     netip.Addr // the address that answered
	// RetryAfter is the header in either of its forms, from now; HasRetryAfter
	// says that it was there and made sense. Capped at a day.
	RetryAfter    time.Duration
	HasRetryAfter bool
	Duration      time.Duration

	lender *sync.Pool // Body goes back there; nil: nowhere
}

// Release gives Body back, if it was lent: whoever calls it has no slice of it left. Of one that
// is never released the garbage collector takes care.
func (r *Response) Release() {
	if r.lender == nil {
		return
	}
	if body := r.Body[:0]; cap(body) >= lentBytes && cap(body) <= scratchBytes {
		r.lender.Put(&body)
	}
	r.Body, r.lender = nil, nil
}

// Error is a request that got no usable answer.
type Error struct {
	URL   string
	Fault fault.Fault
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
