package store

import (
	"path/filepath"
	"testing"
)

func TestExists(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if Exists(dir) {
		t.Error("a store exists before it was made")
	}
	closeStore(t, openStore(t, dir, quick))
	if !Exists(dir) || Exists(filepath.Dir(dir)) {
		t.Error("the store is not where it was made")
	}
}
