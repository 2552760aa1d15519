package fingerprints

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func saved(t testing.TB, n int) []byte {
	t.Helper()
	s := New(n)
	for i := range n {
		s.Add(inStripe(keyOf(uint64(i)), 4))
	}
	var file bytes.Buffer
	if err := s.Save(&file, 7); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestLoadRefuses(t *testing.T) {
	file := saved(t, 1000)
	changed := func(at int, to byte) []byte {
		b := bytes.Clone(file)
		b[at] ^= to
		return b
	}
	for name, b := range map[string][]byte{
		"empty":              {},
		"other file":         []byte(strings.Repeat("MANIFEST", 500)),
		"other version":      changed(len(magic)-1, 3),
		"mark":               changed(len(magic), 1),
		"no tail":            file[:len(file)-1],
		"only the head":      file[:headLen],
		"bytes behind":       append(bytes.Clone(file), 0),
		"twice":              append(bytes.Clone(file), file...),
		"value":              changed(headLen+4+wholeWidth-1, 1),
		"order":              changed(headLen+4, 0x80),
		"count":              changed(headLen+3, 1),
		"huge count":         changed(headLen, 0xff),
		"large count":        changed(headLen, 0x0f),
		"total":              changed(len(file)-5, 1),
		"checksum":           changed(len(file)-1, 1),
		"one bit in between": changed(len(file)/2, 1),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, _, err := Load(bytes.NewReader(b))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrFile) || s != nil {
			t.Errorf("%s: Load gives %v, want ErrFile", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: Load allocates %d bytes", name, got)
		}
	}
}

// TestLoadCut cuts a file everywhere.
func TestLoadCut(t *testing.T) {
	file := saved(t, 50)
	for n := range file {
		if _, _, err := Load(bytes.NewReader(file[:n])); !errors.Is(err, ErrFile) {
			t.Fatalf("cut after %d bytes: %v, want ErrFile", n, err)
		}
	}
}

func TestFaultsOfFiles(t *testing.T) {
	broken := errors.New("no disk")
	file := saved(t, 1000)
	_, _, err := Load(io.MultiReader(bytes.NewReader(file[:500]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || errors.Is(err, ErrFile) {
		t.Errorf("Load gives %v, want the fault of reading", err)
	}
	_, _, err = Load(io.MultiReader(bytes.NewReader(file), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("Load gives %v, want the fault of reading the end", err)
	}
	if _, mark, err := Load(iotest.OneByteReader(bytes.NewReader(file))); err != nil || mark != 7 {
		t.Errorf("Load byte by byte: mark %d, %v", mark, err)
	}
	s := New(0)
	s.Add(keyOf(1))
	for n := 0; n < headLen+stripes*4+wholeWidth+tailLen; n += 13 {
		if err := s.Save(&short{n: n, err: broken}, 0); !errors.Is(err, broken) {
			t.Errorf("Save gives %v after %d bytes", err, n)
		}
	}
}

// short is a writer that fails after n bytes.
type short struct {
	n   int
	err error
}

func (w *short) Write(b []byte) (int, error) {
	if w.n -= len(b); w.n < 0 {
		return 0, w.err
	}
	return len(b), nil
}

func FuzzLoad(f *testing.F) {
	file := saved(f, 30)
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, mark, err := Load(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := s.Save(&again, mark); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), b) {
			t.Error("a loaded file is not saved as it was")
		}
	})
}
