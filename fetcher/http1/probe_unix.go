//go:build unix

package http1

import "syscall"

// isSilent reports whether a socket is open and has nothing to read. It does not wait: sockets of Go's never do.
func isSilent(fd uintptr) bool {
	var b [1]byte
	n, err := syscall.Read(int(fd), b[:])
	return n < 0 && (err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR)
}
