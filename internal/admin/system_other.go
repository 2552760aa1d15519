//go:build !linux

package admin

import "net"

// peerName returns "": the name is unknown on this system, and the socket's mode admits only the owner.
func peerName(net.Conn) string { return "" }

// peerProcess returns 0: the process is unknown on this system.
func peerProcess(net.Conn) int { return 0 }

// ownerOf is not known here.
func ownerOf(string) string { return "" }

// ownAs does nothing on this system.
func ownAs(string, string) error { return nil }
