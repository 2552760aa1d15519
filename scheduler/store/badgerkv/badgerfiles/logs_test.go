package badgerfiles

import (
	"bytes"
	"testing"
)

// FuzzLogEntry: whatever a value log holds, reading it goes on behind what was read.
func FuzzLogEntry(f *testing.F) {
	f.Add([]byte{0, 0, 9, 1, 0, 'k', 0, 0, 0, 0, 0, 0, 0, 1, 'v'})
	f.Add([]byte{2, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := logEntry(b)
		if ok && (len(e.key) <= logVersion || e.length <= int64(len(e.key)+len(e.value)) || !bytes.Contains(b, e.key) || !bytes.Contains(b, e.value)) {
			t.Errorf("%x: %+v", b, e)
		}
	})
}
