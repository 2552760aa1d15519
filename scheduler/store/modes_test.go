package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestOthersMayNotRead: Badger's files are readable for all, so their folder must not be, also of a restored store, and
// in a data directory that is readable for all.
func TestOthersMayNotRead(t *testing.T) {
	data := t.TempDir()
	if err := os.Chmod(data, 0o755); err != nil { //nolint:gosec // the case
		t.Fatal(err)
	}
	dir, restored := filepath.Join(data, "docs", "store"), filepath.Join(data, "other", "store")
	s := openStore(t, dir, Options{})
	backup := backedUp(t, s)
	closeStore(t, s)
	if _, err := Restore(t.Context(), restored, bytes.NewReader(backup), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, restored} {
		info, err := os.Stat(d)
		if err != nil || info.Mode().Perm()&0o007 != 0 {
			t.Errorf("%s: %v %v", d, info.Mode(), err)
		}
	}
}
