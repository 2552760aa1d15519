// Package fetcher gets one URL over HTTP: limits, time-outs, conditional GET,
// the judge of addresses, and error classes. It follows no redirect and decides
// nothing.
package fetcher

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

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
	// Limit, if not nil, is asked before the body is read: what it gives, if above
	// 0, is the limit in place of MaxBodyBytes.
	Limit func(header http.Header) int64
	// Refuse, if not nil, is asked before the body is read; with true it stays unread.
	Refuse func(status int, header http.Header) bool
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
}

// Fault classifies a request that got no usable answer.
type Fault uint8

// The faults.
const (
	Timeout          Fault = iota + 1 // connect, TLS, first byte, idle or whole
	Reset                             // connection reset or closed before the header was whole
	Refused                           // connection refused
	ShortBody                         // body ended before its Content-Length or its last chunk
	DNSNotFound                       // NXDOMAIN, or no address of any kind and no failure
	DNSNoAnswer                       // time-out or failure of DNS, be it for one kind of address
	TLSFault                          // handshake, certificate
	Protocol                          // not HTTP, bad framing or encoding, oversized header
	AddressFault                      // the built-in guard refused the address
	AddressForbidden                  // Settings.Judge forbade all addresses of the host
	ProxyFault                        // the proxy did not pass the request on, for whatever reason
)

// Error is a request that got no usable answer.
type Error struct {
	URL   string
	Fault Fault
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
