//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNamedPipe: one that nobody writes to is an empty file, and is not waited for.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, report, err := Load(path)
	if err != nil || len(report.Errors) != 1 || !strings.Contains(report.Errors[0].Message, "empty") {
		t.Errorf("%v %v", report.Errors, err)
	}
}
