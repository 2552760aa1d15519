package sketch

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// bins makes a sketch of the given title and minima.
func bins(title uint32, minima ...uint8) (s Sketch) {
	s.Title = title
	copy(s.Minima[:], minima)
	return s
}

// anySketch makes a sketch of values below most; some bins are empty.
func anySketch(r *rand.Rand, most int) (s Sketch) {
	s.Title = uint32(r.IntN(6))
	for i := range s.Minima {
		s.Minima[i] = uint8(r.IntN(most))
	}
	return s
}

// TestStored: the binary form has its place in a longer value, and means the same in later versions.
func TestStored(t *testing.T) {
	s := bins(0x01020304, 5, 0, 7)
	b := append(s.Append([]byte("a")), "rest"...)
	if want := "a\x04\x03\x02\x01\x05\x00\x07"; string(b[:8]) != want || len(b) != 1+Size+4 || Size != 68 {
		t.Errorf("stored as %q", b)
	}
	got, rest, ok := Read(b[1:])
	if got != s || string(rest) != "rest" || !ok {
		t.Errorf("read %v, rest %q, %v", got, rest, ok)
	}
}

// TestZero: IsZero needs all of a sketch.
func TestZero(t *testing.T) {
	zero, title, last := Sketch{}, Sketch{Title: 1}, Sketch{}
	last.Minima[Bins-1] = 1
	if !zero.IsZero() || title.IsZero() || last.IsZero() {
		t.Error("only the zero Sketch is zero")
	}
}

// FuzzRead: any bytes are read or refused, and are written again as they were.
func FuzzRead(f *testing.F) {
	s := anySketch(rand.New(rand.NewPCG(1, 1)), 256)
	f.Add(s.Append(nil))
	f.Add(s.Append(nil)[:Size-1])
	f.Add(append(s.Append(nil), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, rest, ok := Read(b)
		if ok != (len(b) >= Size) {
			t.Fatalf("%d bytes are read: %v", len(b), ok)
		}
		if !ok {
			if !s.IsZero() || !bytes.Equal(rest, b) {
				t.Fatalf("read %v, rest %q, of bytes that are no sketch", s, rest)
			}
			return
		}
		if again := append(s.Append(nil), rest...); !bytes.Equal(again, b) {
			t.Fatalf("written as %q, want %q", again, b)
		}
		if got := Alike(s, s); got != 1 {
			t.Fatalf("a document is alike to itself: %v, want 1", got)
		}
	})
}
