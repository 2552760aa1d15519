package admin

import (
	"net"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerOf returns the process at the other end of a Unix socket, by SO_PEERCRED, or nil if it is
// not known. For a listening socket that is the process that called listen.
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

// peerProcess returns its number, or 0 if it is not known or belongs to another namespace.
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

// ownerOf names the owner of a file, or returns "" if it is not known.
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

// ownAs gives a file that root made to the owner of a folder, whose service is to read it.
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
