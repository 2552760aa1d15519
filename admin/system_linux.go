package admin

import (
	"net"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerName names the user at the other end of a Unix socket, by SO_PEERCRED.
func peerName(c net.Conn) string {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return ""
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return ""
	}
	var peer *unix.Ucred
	controlErr := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) //nolint:gosec // a descriptor fits
	})
	if controlErr != nil || err != nil {
		return ""
	}
	id := strconv.FormatUint(uint64(peer.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return "uid " + id + " (" + u.Username + ")"
	}
	return "uid " + id
}

// ownerOf names the user who owns a file; empty if nobody knows.
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

// exchange gives two files each other's name in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
