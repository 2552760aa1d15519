package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// Errors that a test cannot bring about on any machine.
func TestClassify(t *testing.T) {
	connect := func(errno syscall.Errno) error {
		return &dialError{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)}}
	}
	tests := []struct {
		err  error
		want Fault
	}{
		{connect(syscall.ETIMEDOUT), Timeout},
		{connect(syscall.EHOSTUNREACH), Timeout},
		{connect(syscall.ENETUNREACH), Timeout},
		{connect(syscall.ECONNREFUSED), Refused},
		{connect(syscall.EMFILE), Refused},
		{connect(syscall.EADDRNOTAVAIL), Refused},
		{&dialError{&net.DNSError{IsTimeout: true}}, DNSNoAnswer},
		{&dialError{&net.DNSError{IsTemporary: true}}, DNSNoAnswer},
		{&dialError{&net.DNSError{IsNotFound: true}}, DNSNotFound},
		{&tlsError{syscall.ECONNRESET}, Reset},
		{&tlsError{errors.New("tls: no")}, TLSFault},
		{syscall.EPIPE, Reset},
		{fmt.Errorf("wrapped: %w", streamError{Code: 0x2}), Reset},
		{streamError{Code: 0x1}, Protocol},
		{errors.New("http2: client connection lost"), Reset},
		{errors.New("anything"), Protocol},
	}
	for _, tt := range tests {
		if got := classify(context.Background(), tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
	words := map[string]bool{}
	for f := Timeout; f <= AddressFault; f++ {
		words[f.String()] = true
	}
	if len(words) != int(AddressFault) || words[Fault(0).String()] {
		t.Errorf("faults without a word of their own: %v", words)
	}
}
