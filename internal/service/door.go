package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// openDoor opens the socket, which keeps other services away, reads the tokens, and listens on TCP. Until opened is
// called, both respond that the service is starting, and how many of its stores are open.
func (s *Service) openDoor(ctx context.Context, data, listen string, access *admin.AccessSettings) (opened func(), err error) {
	if s.owner, err = listenSocket(ctx, data, s.log); err != nil {
		return nil, err
	}
	if access != nil {
		if s.access, err = openAccess(data, listen, *access); err != nil {
			return nil, err
		}
	}
	if listen != "off" {
		if s.open, err = ListenTCP(ctx, listen); err != nil {
			return nil, err
		}
	}
	answered, told := admin.Opening(s.open, s.access.TLS(), s.progressOfOpening), admin.Opening(s.owner, nil, s.progressOfOpening)
	return func() { answered(); told() }, nil
}

// listenSocket listens on the socket of the data directory, which is also the
// first lock against a second service. A socket without a listener is left
// over from a process that was killed.
func listenSocket(ctx context.Context, data string, log *slog.Logger) (net.Listener, error) {
	path := admin.SocketPath(data)
	if isListenedTo(ctx, path) {
		return nil, fmt.Errorf("%w: a service is already running on %s: stop it, or choose another --data", scheduler.ErrLocked, data)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s occupies the path of the service's socket: move it away", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		if len(path) > 100 { // sun_path holds 108 bytes
			log.Warn("the path of the data directory is too long for a socket; commands cannot reach this service", "path", path)
			return nil, nil
		}
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// isListenedTo reports whether a process has a socket open. The socket of a dead process refuses connections; that of a
// slow one does not, and must not be removed.
func isListenedTo(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // nothing was said
		return true
	}
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES)
}

// IsLoopback reports whether an address with a port can be reached from this machine only.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && weburl.IsLoopback(host)
}

// ListenTCP listens on an address.
func ListenTCP(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &takenError{address}
	}
	return l, err
}

// takenError is the error for a port that is in use, with a remedy. errors.Is finds syscall.EADDRINUSE in it.
type takenError struct{ address string }

func (e *takenError) Error() string {
	return fmt.Sprintf("port %s is in use: stop the program that listens there, or choose another port with --listen HOST:PORT (port 0 chooses a free one)", e.address)
}

func (e *takenError) Unwrap() error { return syscall.EADDRINUSE }

// openAccess reads tokens and certificate, and creates the operator's token if none is named. It returns nil if nothing
// listens on TCP.
func openAccess(data, listen string, s admin.AccessSettings) (*admin.Access, error) {
	if listen == "off" {
		return nil, nil
	}
	s.Beyond = !IsLoopback(listen)
	if s.OperatorToken == "" {
		path, _, err := admin.EnsureToken(data, admin.Operator)
		if err != nil {
			return nil, fmt.Errorf("the operator's token: %w", err)
		}
		s.OperatorToken = path
	}
	if s.ReaderToken == "" {
		s.ReaderToken, s.ReaderMayLack = admin.TokenPath(data, admin.Reader), true
	}
	return admin.NewAccess(s)
}
