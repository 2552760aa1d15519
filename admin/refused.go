package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
)

// Refused says that a service may run on a data directory, and this user may not ask it;
// nil where nobody is kept away.
func Refused(data string) error {
	path := SocketPath(data)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		return refusedTo(data, ownerOf(data), "whether a service runs on "+data+" can be seen by its owner only")
	}
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return nil
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).Dial("unix", path)
	if errors.Is(err, fs.ErrPermission) {
		return refusedTo(data, ownerOf(path), "a service runs on "+data+", and answers its owner only")
	}
	if err == nil {
		_ = conn.Close() // it was another fault
	}
	return nil
}

// refusedTo says as whom to ask.
func refusedTo(data, owner, words string) error {
	if owner == "" {
		return fmt.Errorf("%s: run this command as the user who owns %s", words, data)
	}
	return fmt.Errorf("%s: run this command as %s, for example with sudo -u %s", words, owner, owner)
}
