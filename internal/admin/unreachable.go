package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"
)

// refused returns an error if a service may be running on a data directory that refuses this user, else nil.
func refused(data string) error {
	path := SocketPath(data)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		return refusedTo(data, ownerOf(data), "whether a service is running on "+data+" is visible only to its owner")
	}
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return nil
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).Dial("unix", path)
	if errors.Is(err, fs.ErrPermission) {
		return refusedTo(data, ownerOf(path), "a service is running on "+data+", but accepts only its owner")
	}
	if err == nil {
		_ = conn.Close() // another error
	}
	return nil
}

// refusedTo returns the error that names the permitted user.
func refusedTo(data, owner, words string) error {
	if owner == "" {
		return fmt.Errorf("%s: run this command as the user who owns %s", words, data)
	}
	return fmt.Errorf("%s: run this command as %s, for example with sudo -u %s", words, owner, owner)
}

// silent returns the error for a service with an open socket that did not respond in time: it hangs, is stopped, or the
// machine is overloaded.
func silent(data string, after time.Duration) error {
	words := fmt.Sprintf("a service is running on %s but did not respond within %s", data, after)
	pid := 0
	if conn, err := (&net.Dialer{Timeout: time.Second}).Dial("unix", SocketPath(data)); err == nil {
		pid = peerProcess(conn)
		_ = conn.Close()
	}
	if pid == 0 {
		return fmt.Errorf("%s: see its log, and restart it if this persists", words)
	}
	return fmt.Errorf("%s: its process %d exists; retry if the machine is busy, and continue the process with kill -CONT %d if it was stopped (by SIGSTOP or Ctrl-Z); "+
		"otherwise end it with kill -QUIT %d, which logs where it hangs, and start it again: committed data is not lost", words, pid, pid, pid)
}
