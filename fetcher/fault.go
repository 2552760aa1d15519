package fetcher

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/fetcher/http1"
)

// Our own time limits, as causes of a cancelled context.
var (
	errIdle     = http1.ErrIdle
	errDownload = http1.ErrDownload
)

// tlsError marks an error of the handshake.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return "TLS: " + e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }

// streamError has the fields of net/http's HTTP/2 stream error, since errors.As fills any struct of the same shape.
type streamError struct {
	StreamID uint32
	Code     uint32 // RFC 9113 section 7
	Cause    error
}

func (e streamError) Error() string { return "HTTP/2 stream error" }

// classify returns the fault of an error before the header was complete. ctx is the request's own context. The order
// matters: a time-out of DNS is a DNS fault, and a handshake that is cut off is a reset, not a TLS fault.
func classify(ctx context.Context, err error) fault.Fault {
	if errors.As(err, new(*proxyError)) {
		return fault.Proxy
	}
	if cause := context.Cause(ctx); errors.Is(cause, errIdle) || errors.Is(cause, errDownload) {
		return fault.Timeout
	}
	var refused *refusedAddress
	if errors.As(err, &refused) {
		if refused.rule {
			return fault.AddressForbidden
		}
		return fault.Address
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsNotFound {
			return fault.DNSNotFound
		}
		return fault.DNSNoAnswer
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded) {
		return fault.Timeout
	}
	// An alert after the handshake: with TLS 1.3 only then does a server report that it rejects or requires a
	// certificate. The error has no separate type.
	if op := (*net.OpError)(nil); errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") {
		return fault.TLS
	}
	switch {
	case isAny(err, syscall.ECONNREFUSED):
		return fault.Refused
	case isAny(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN):
		return fault.Timeout // reported by a router; otherwise it would be a time-out
	case isCut(err):
		return fault.Reset
	}
	var handshake *tlsError
	if errors.As(err, &handshake) {
		return fault.TLS
	}
	var dial *dialError
	if errors.As(err, &dial) {
		return fault.Refused // the rest are failures of this machine: no free port, no file descriptor
	}
	return fault.Protocol
}

// classifyBody returns the fault of an error in reading the body from the wire.
func classifyBody(ctx context.Context, err error) fault.Fault {
	if errors.Is(err, io.ErrUnexpectedEOF) && context.Cause(ctx) == nil {
		return fault.ShortBody
	}
	return classify(ctx, err)
}

// isCut reports whether the peer ended the connection, or the HTTP/2 stream.
func isCut(err error) bool {
	if isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE) {
		return true
	}
	// net/http's errors about a whole HTTP/2 connection, and about bytes received before any request, have no type of
	// their own.
	for _, words := range [...]string{
		"server sent GOAWAY", "client connection lost", "client connection force closed",
		"server closed idle connection", "readLoopPeekFailLocked",
	} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	const protocolError, flowControlError, frameSizeError, compressionError = 0x1, 0x3, 0x6, 0x9
	var stream streamError
	if !errors.As(err, &stream) {
		return false
	}
	switch stream.Code {
	case protocolError, flowControlError, frameSizeError, compressionError:
		return false
	}
	return true
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}
