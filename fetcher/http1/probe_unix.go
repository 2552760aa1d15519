//go:build unix

package http1

import "syscall"

// isSilent reports whether a socket is open and has nothing to read. It consumes nothing and does not block, since Go's
// sockets are non-blocking.
func isSilent(fd uintptr) bool {
	var b [1]byte
	n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
	return n <= 0 && (err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR)
}
