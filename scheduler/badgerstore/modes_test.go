package badgerstore

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestOthersMayNotRead: what was crawled lies in files that Badger makes readable for all;
// their folder keeps others out, also of a restored store, and also in a data directory
// that somebody made readable for all.
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
