package bodyfiles

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestNumber(t *testing.T) {
	for name, want := range map[string]uint64{
		Name(7): 7, "outbox-0000000001.seg": 1, Name(1e12): 1e12,
		"outbox-1.seg": 0, "outbox-.seg": 0, "outbox-0000000000.seg": 0, "outbox-00000000-1.seg": 0, "000001.sst": 0,
	} {
		if got := Number(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestAppendFails: a body whose file cannot be written is an error of the write.
func TestAppendFails(t *testing.T) {
	refused := errors.New("no")
	w := Files{Dir: t.TempDir(), SyncNames: func() error { return refused }}
	if err := w.Append(1, 0, []byte("x")); !errors.Is(err, refused) {
		t.Errorf("%v, want %v", err, refused)
	}
	w = Files{Dir: filepath.Join(t.TempDir(), "missing")}
	if err := w.Append(1, 0, []byte("x")); err == nil {
		t.Error("no error in a directory that is missing")
	}
}
