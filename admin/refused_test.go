package admin

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefused: only a service that may not be asked is refused.
func TestRefused(t *testing.T) {
	data := t.TempDir()
	if err := Refused(data); err != nil {
		t.Errorf("without a service: %v", err)
	}
	if err := Refused(filepath.Join(data, "none")); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	l, err := net.Listen("unix", SocketPath(data))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := Refused(data); err != nil {
		t.Errorf("the owner: %v", err)
	}
	if os.Geteuid() == 0 {
		t.Skip("nothing is refused to root")
	}
	if err := os.Chmod(SocketPath(data), 0); err != nil {
		t.Fatal(err)
	}
	if err := Refused(data); err == nil || !strings.Contains(err.Error(), "a service runs on "+data) {
		t.Errorf("somebody else: %v", err)
	}
	if err := os.Chmod(data, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(data, 0o700) }() //nolint:gosec // a folder
	if err := Refused(data); err == nil || !strings.Contains(err.Error(), "by its owner only") {
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
