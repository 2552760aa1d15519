package admin

import (
	"net"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf returns the process at the other end of a Unix socket, by SO_PEERCRED, or nil if unknown. For a listening
// socket that is the process that called listen.
func peerOf(c net.Conn) *unix.Ucred {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	var peer *unix.Ucred
	controlErr := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) //nolint:gosec // a descriptor fits
	})
	if controlErr != nil || err != nil {
		return nil
	}
	return peer
}

// peerProcess returns its number, or 0 if it is unknown or belongs to another namespace.
func peerProcess(c net.Conn) int {
	if peer := peerOf(c); peer != nil {
		return int(peer.Pid)
	}
	return 0
}

// peerName names the user at the other end of a Unix socket.
func peerName(c net.Conn) string {
	peer := peerOf(c)
	if peer == nil {
		return ""
	}
	id := strconv.FormatUint(uint64(peer.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return "uid " + id + " (" + u.Username + ")"
	}
	return "uid " + id
}

// ownerOf returns the owner of a file, or "" if unknown.
func ownerOf(path string) string {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return ""
	}
	u, err := user.LookupId(strconv.FormatUint(uint64(stat.Uid), 10))
	if err != nil {
		return ""
	}
	return u.Username
}

// ownAs gives a file that root created to the owner of a folder, whose service must read it.
func ownAs(path, folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var stat unix.Stat_t
	if err := unix.Stat(folder, &stat); err != nil {
		return err
	}
	return os.Lchown(path, int(stat.Uid), int(stat.Gid))
}
