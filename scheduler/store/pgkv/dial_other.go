//go:build !linux

package pgkv

import "syscall"

// lost does nothing: only Linux bounds how long sent bytes wait for a machine that is gone.
func lost(syscall.RawConn) error { return nil }
