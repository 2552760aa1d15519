// Package sketch compares documents by samples of their texts.
//
// A Sketch of 68 bytes is stored with each document. Package crawl/copies/near makes it.
package sketch

import "encoding/binary"

const (
	// Bins is the number of minima of a Sketch.
	Bins = 64
	// Size is the length of a Sketch's binary form.
	Size = 4 + Bins
)

// Sketch is a sample of the word pairs of a text, made by one-permutation hashing (Li, Owen, Zhang 2012) with minima
// of 8 bits (Li, König 2010): the hash of a pair chooses the bin, and each bin keeps 8 bits of the least hash.
//
// Two sketches are comparable with ==. The zero Sketch is that of a document without text and title.
type Sketch struct {
	// Minima are from 1 to 255. A bin without a pair is 0.
	Minima [Bins]uint8
	// Title is a hash of the normalised title, without words that contain a digit or a slash; 0 if there is no title.
	Title uint32
}

// IsZero reports whether s is that of a document without text and title, or of no document.
func (s *Sketch) IsZero() bool { return *s == Sketch{} }

// HasText reports whether the document has text.
func (s *Sketch) HasText() bool { return s.Minima != [Bins]uint8{} }

// Append appends the binary form, which has Size bytes.
func (s *Sketch) Append(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, s.Title), s.Minima[:]...)
}

// Read reads what Append wrote at the beginning of b, and returns the rest. It returns false if b has fewer than Size
// bytes; any Size bytes are a Sketch.
func Read(b []byte) (s Sketch, rest []byte, ok bool) {
	if len(b) < Size {
		return s, b, false
	}
	s.Title = binary.LittleEndian.Uint32(b)
	copy(s.Minima[:], b[4:Size])
	return s, b[Size:], true
}
