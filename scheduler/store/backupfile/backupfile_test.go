package backupfile

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

// FuzzBackup reads what is not a backup, most times: it must end with an error, and a
// backup that is read to its end must be what a writer writes.
func FuzzBackup(f *testing.F) {
	var b bytes.Buffer
	w := NewWriter(&b)
	for i := range 3 {
		if err := w.Add([]byte{'u', byte(i)}, bytes.Repeat([]byte{1}, 40)); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.End(3); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-5])
	f.Add([]byte(Magic + "\x04\xff\xff\xff"))
	f.Add([]byte(Magic[:len(Magic)-1] + "\x02\x04\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		var keys uint64
		for {
			key, value, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				if !errors.Is(err, scheduler.ErrDamaged) && !errors.Is(err, scheduler.ErrFormat) {
					t.Errorf("error %v is neither ErrDamaged nor ErrFormat", err)
				}
				return
			}
			if keys++; len(key) == 0 || len(key)+len(value) > len(b) {
				t.Fatalf("key of %d bytes, value of %d, out of %d", len(key), len(value), len(b))
			}
		}
		if keys != r.keys || r.Read != int64(len(b)) {
			t.Errorf("%d keys, %d bytes read, of %d keys and %d bytes", r.keys, r.Read, keys, len(b))
		}
	})
}
