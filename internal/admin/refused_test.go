package admin

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// dial finds the service of a test.
func dial(t *testing.T, data, crawler string) *Client {
	t.Helper()
	c, err := Dial(t.Context(), data, crawler)
	if c == nil {
		t.Fatalf("no service answers: %v", err)
	}
	return c
}

// TestRefused: only a service that may not be asked is refused.
func TestRefused(t *testing.T) {
	data := t.TempDir()
	if err := refused(data); err != nil {
		t.Errorf("without a service: %v", err)
	}
	if err := refused(filepath.Join(data, "none")); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	l, err := net.Listen("unix", SocketPath(data))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := refused(data); err != nil {
		t.Errorf("the owner: %v", err)
	}
	if os.Geteuid() == 0 {
		t.Skip("nothing is refused to root")
	}
	if err := os.Chmod(SocketPath(data), 0); err != nil {
		t.Fatal(err)
	}
	if err := refused(data); err == nil || !strings.Contains(err.Error(), "a service is running on "+data) {
		t.Errorf("somebody else: %v", err)
	}
	if err := os.Chmod(data, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(data, 0o700) }() //nolint:gosec // a folder
	if err := refused(data); err == nil || !strings.Contains(err.Error(), "visible only to its owner") {
		t.Errorf("a closed folder: %v", err)
	}
}

// TestRefusedWords names the user to ask as, where that is known.
func TestRefusedWords(t *testing.T) {
	for owner, want := range map[string]string{
		"sextant": "it runs: run this command as sextant, for example with sudo -u sextant",
		"":        "it runs: run this command as the user who owns /data",
	} {
		if got := refusedTo("/data", owner, "it runs").Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSilent: a service that has its socket open and does not answer is there.
func TestSilent(t *testing.T) {
	data := t.TempDir()
	l, err := net.Listen("unix", SocketPath(data))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // nobody accepts
	c, err := dialWithin(t.Context(), data, "", 20*time.Millisecond)
	if c != nil || err == nil {
		t.Fatalf("a client %v, %v", c, err)
	}
	want := fmt.Sprintf("a service is running on %s but did not respond within 20ms: ", data)
	if runtime.GOOS == "linux" {
		want += fmt.Sprintf("its process %d exists", os.Getpid())
	}
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := Dial(t.Context(), data, ""); c != nil || err != nil {
		t.Errorf("once it has gone: %v, %v", c, err)
	}
}
