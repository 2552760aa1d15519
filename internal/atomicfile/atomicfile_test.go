package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestReplace: the file has the new content and mode, or the old one where writing fails, and nothing is left beside
// it.
func TestReplace(t *testing.T) {
	path, failed := filepath.Join(t.TempDir(), "file"), errors.New("failed")
	for _, text := range []string{"old", "new"} {
		if err := Write(path, 0o664, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	err := Replace(path, 0o600, func(f *os.File) error {
		_, err := f.WriteString("half")
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	text, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if string(text) != "new" || err != nil || statErr != nil || info.Mode() != 0o664 {
		t.Errorf("%s, %v, %v %v", text, err, info.Mode(), statErr)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); len(left) != 1 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
