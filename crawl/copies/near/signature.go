package near

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// A Signature is stored in a binary form: see Append.

const (
	sketchBits  = 448
	sketchWords = sketchBits / 64
	gramBits    = 192
	gramSets    = gramBits / 64
	numeralBits = 96
)

// Signature summarizes a text. Two signatures suffice to estimate, without the texts, in how many words and places they
// differ, and how many of these are numbers. It does not depend on frames: a comparison excludes the frame as known at
// that time. The zero Signature belongs to a text that is too short.
//
// Sketches are of sets: each member changes one bit. So the parts that two texts share cancel out in the difference of
// their sketches, however large they are, and a few different members are counted accurately (Mitzenmacher, Pagh, Pham
// 2014, odd sketches).
type Signature struct {
	text    uint64              // hash of all words in order
	pairs   uint32              // number of different ones
	sketch  [sketchWords]uint64 // sketch of the pairs of words
	grams   [gramSets]uint64    // of grams
	numbers numberSet           // sketch of the numbers, with the words before them
	title   tokens
	cut     bool // the text is longer than the sketched part
}

// IsZero reports whether the text has no signature.
func (s *Signature) IsZero() bool { return s.pairs == 0 }

// Place returns the position of a page with the signature in a Table. Only pages of one source share titles. The
// highest byte of Body distinguishes titles whose words have equal tokens, see SameTitle.
func (s *Signature) Place(source string) Place {
	body := uint32(mix(s.text, s.title.hash()))
	if s.title.n > 0 {
		body = body<<8>>8 | s.title.whole&^(1<<24-1)
	}
	return Place{Body: body, Title: titlePlace(&s.title, hashText(0, source))}
}

// SameTitle reports whether two pages under one title of a Table really have the same title: of 20,000 articles whose
// titles differ only in a number, every second one shares its token with another. a and b are the Body of each, both
// with a title.
func SameTitle(a, b uint32) bool { return (a^b)>>24 == 0 }

// PlaceOf returns the place of a page without a signature, by a hash of its whole content. It has no title.
func PlaceOf(hash [16]byte) Place { return Place{Body: binary.LittleEndian.Uint32(hash[:])} }

// Titles returns the titles of a Table under which the original of a page may be found: first its own, then without
// what the titles of its host share, then with it.
func (s *Signature) Titles(source string, frame *Frame) []uint32 {
	of := hashText(0, source)
	if s.title.n == 0 {
		return nil
	}
	places := append(make([]uint32, 0, 1+titleVariants), titlePlace(&s.title, of))
	frame.variants(&s.title, func(t tokens) {
		if p := titlePlace(&t, of); !slices.Contains(places, p) {
			places = append(places, p)
		}
	})
	return places
}

// titlePlace is never 0, except for no title.
func titlePlace(t *tokens, source uint64) uint32 {
	if t.n == 0 {
		return 0
	}
	return uint32(mix(t.hash(), source)) | 1
}

// sameWords reports whether titles and texts are equal, ignoring the case of letters and white space.
func (s *Signature) sameWords(o *Signature) bool { return *s == *o }

// SignatureSize is the length of a Signature's binary form.
const SignatureSize = 4 + 8 + 8*sketchWords + 8*gramSets + numeralBits/8 + tokensSize

const (
	signatureVersion = 2
	versionMask      = 0x7f
	cutFlag          = 0x80
)

// Append appends the binary form.
func (s *Signature) Append(b []byte) []byte {
	head := uint32(signatureVersion)
	if s.cut {
		head |= cutFlag
	}
	b = binary.LittleEndian.AppendUint32(b, head|s.pairs<<8)
	b = binary.LittleEndian.AppendUint64(b, s.text)
	b = appendAll(b, s.sketch[:])
	b = appendAll(b, s.grams[:])
	b = s.numbers.append(b)
	return s.title.append(b)
}

// DecodeSignature decodes the result of Append.
func DecodeSignature(b []byte) (Signature, error) {
	var s Signature
	if len(b) != SignatureSize {
		return s, fmt.Errorf("a signature of %d bytes, want %d", len(b), SignatureSize)
	}
	head := binary.LittleEndian.Uint32(b)
	if v := head & versionMask; v != signatureVersion {
		return s, fmt.Errorf("a signature of version %d, want %d", v, signatureVersion)
	}
	s.cut, s.pairs = head&cutFlag != 0, head>>8
	s.text = binary.LittleEndian.Uint64(b[4:])
	b = readAll(b[12:], s.sketch[:])
	b = readAll(b, s.grams[:])
	b = s.numbers.read(b)
	var ok bool
	if s.title, ok = tokensFrom(b); !ok || s.pairs == 0 {
		return s, errors.New("a damaged signature")
	}
	return s, nil
}

// numberSet is the sketch of numbers.
type numberSet [numeralBits / 32]uint32

// differ counts the bits that differ, except those in the masks.
func (n *numberSet) differ(o *numberSet, but ...*numberSet) (count int) {
	for i := range n {
		x := n[i] ^ o[i]
		for _, m := range but {
			x &^= m[i]
		}
		count += bits.OnesCount32(x)
	}
	return count
}

func (n *numberSet) append(b []byte) []byte {
	for _, w := range n {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func (n *numberSet) read(b []byte) []byte {
	for i := range n {
		n[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return b[4*len(n):]
}

func appendAll(b []byte, words []uint64) []byte {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func readAll(b []byte, words []uint64) []byte {
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return b[8*len(words):]
}
