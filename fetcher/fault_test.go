package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// Errors that a test cannot bring about on any machine.
func TestClassify(t *testing.T) {
	connect := func(errno syscall.Errno) error {
		return &dialError{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)}}
	}
	tests := []struct {
		err  error
		want fault.Fault
	}{
		{connect(syscall.ETIMEDOUT), fault.Timeout},
		{connect(syscall.EHOSTUNREACH), fault.Timeout},
		{connect(syscall.ENETUNREACH), fault.Timeout},
		{connect(syscall.ECONNREFUSED), fault.Refused},
		{connect(syscall.EMFILE), fault.Refused},
		{connect(syscall.EADDRNOTAVAIL), fault.Refused},
		{&dialError{&net.DNSError{IsTimeout: true}}, fault.DNSNoAnswer},
		{&dialError{&net.DNSError{IsTemporary: true}}, fault.DNSNoAnswer},
		{&dialError{&net.DNSError{IsNotFound: true}}, fault.DNSNotFound},
		{&tlsError{syscall.ECONNRESET}, fault.Reset},
		{&tlsError{errors.New("tls: no")}, fault.TLS},
		{syscall.EPIPE, fault.Reset},
		{fmt.Errorf("wrapped: %w", streamError{Code: 0x2}), fault.Reset},
		{streamError{Code: 0x1}, fault.Protocol},
		{errors.New("http2: client connection lost"), fault.Reset},
		{errors.New("anything"), fault.Protocol},
	}
	for _, tt := range tests {
		if got := classify(context.Background(), tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
