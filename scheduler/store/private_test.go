package store

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestPrivate: only its owner has access to a store's files: of a new, a restored, and a formerly readable store.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "store")
	open := func(dir string) *Store {
		t.Helper()
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	mode := func(dir string) fs.FileMode {
		t.Helper()
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	s := open(dir)
	if got := mode(dir); got != 0o700 {
		t.Errorf("a new store's folder has mode %v", got)
	}
	var copied bytes.Buffer
	if _, err := s.Backup(t.Context(), &copied); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "data", "store")
	if _, err := Restore(t.Context(), restored, &copied, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := mode(restored); got != 0o700 {
		t.Errorf("a restored store's folder has mode %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	open(dir)
	if got := mode(dir); got != 0o700 {
		t.Errorf("an old store's folder has mode %v", got)
	}
}
