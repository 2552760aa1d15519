//go:build !linux

package admin

import (
	"errors"
	"net"
)

// peerName returns "": the name is unknown on this system, and the socket's mode admits only the owner.
func peerName(net.Conn) string { return "" }

// peerProcess returns 0: the process is unknown on this system.
func peerProcess(net.Conn) int { return 0 }

// isStopped returns false: the state is unknown on this system.
func isStopped(int) bool { return false }

// ownerOf returns "": the owner is unknown on this system.
func ownerOf(string) string { return "" }

// ownAs does nothing on this system.
func ownAs(string, string) error { return nil }

// exchange is not supported on this system.
func exchange(string, string) error { return errors.ErrUnsupported }
