// Package testdir makes folders for tests.
package testdir

import (
	"os"
	"path/filepath"
	"testing"
)

// Linked returns a symbolic link to a temporary folder, for a store in a bubble of package synctest. Badger walks the
// folder of its files once a minute, for metrics that nobody reads, and days of minutes pass in a bubble; filepath.Walk
// does not follow the link.
func Linked(t testing.TB) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "store")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	return link
}

// Read returns what a file holds.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Write makes path a file with a text that only its owner may read, and the folder that it is in.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
