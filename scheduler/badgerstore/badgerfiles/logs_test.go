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
		key, length, ok := logEntry(b)
		if ok && (len(key) <= logVersion || length <= int64(len(key)) || !bytes.Contains(b, key)) {
			t.Errorf("%x: key %x, length %d", b, key, length)
		}
	})
}
