// Package testdir makes folders for tests.
package testdir

import (
	"os"
	"path/filepath"
	"testing"
)

// Linked returns a symbolic link to a temporary folder, for a store in a synctest bubble. Badger walks the folder of
// its files once a minute, for metrics that are not read, and days of minutes pass in a bubble; filepath.Walk does not
// follow the link.
func Linked(t testing.TB) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "store")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	return link
}
