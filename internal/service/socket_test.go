package service

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"testing"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestSocketOfAnother: a service that is alive keeps its socket, however slow it is to answer;
// the socket of a process that died is taken over.
func TestSocketOfAnother(t *testing.T) {
	t.Chdir(t.TempDir())
	path := admin.SocketPath(".")
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path) // nobody ever answers
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenSocket(t.Context(), ".", slog.New(slog.DiscardHandler)); !errors.Is(err, scheduler.ErrLocked) {
		t.Errorf("beside a service that does not answer: %v, want %v", err, scheduler.ErrLocked)
	}
	silent.(*net.UnixListener).SetUnlinkOnClose(false) // as kill -9 leaves it
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	l, err := listenSocket(t.Context(), ".", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("after a service that died: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
