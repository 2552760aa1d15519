package store

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUnfinishedTable: a process that dies while Badger writes a table leaves one that
// no manifest names and that has no end yet.
func TestUnfinishedTable(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, attackOptions())
	if _, _, err := s.Add(t.Context(), webLinks([]int{1, 2, 3}, ""), false); err != nil {
		t.Fatal(err)
	}
	image := copied(t, dir) // as a killed process leaves it
	if err := os.WriteFile(filepath.Join(image, "000009.sst"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	killed := openStore(t, image, attackOptions())
	if n := len(recordsOf(t, killed)); n != 3 {
		t.Errorf("%d URLs are left of 3", n)
	}
	mustVerify(t, killed)
}
