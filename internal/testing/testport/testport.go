// Package testport reserves addresses for tests while no server listens on them.
package testport

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
)

// Reserve returns a loopback address, "127.0.0.1:port", on which no server listens. Until the test ends no other
// program gets the port by chance; a server that is given the address can listen on it, repeatedly.
func Reserve(t testing.TB) string {
	t.Helper()
	address, release, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	return address
}

// New is Reserve outside of tests; release ends the reservation.
//
// The port is bound and does not listen: the system assigns it to no other socket, and refuses connections, but
// SO_REUSEADDR, which servers set, allows them to listen.
func New() (address string, release func() error, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("reserving a port: %w", err)
	}
	release = func() error { return syscall.Close(fd) }
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
	)
	bound, nameErr := syscall.Getsockname(fd)
	if err = errors.Join(err, nameErr); err != nil {
		return "", nil, fmt.Errorf("reserving a port: %w", errors.Join(err, release()))
	}
	inet, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return "", nil, errors.Join(fmt.Errorf("reserving a port gave a %T", bound), release())
	}
	return netip.AddrPortFrom(netip.AddrFrom4(inet.Addr), uint16(inet.Port)).String(), release, nil //nolint:gosec // a port
}
