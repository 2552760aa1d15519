package pgkv

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// lost bounds how long sent bytes wait for a machine that is gone.
func lost(c syscall.RawConn) (err error) {
	failed := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds()))
	})
	if failed != nil {
		return failed
	}
	return err
}
