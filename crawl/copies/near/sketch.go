package near

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// binShift leaves the bits of a hash that choose a bin.
const binShift = 64 - 6

// sketched is the number of bytes that are read from the middle of a text, where a page has its own text. Reading a
// page of 15 KiB completely would take 5 % of the page's total cost.
const sketched = 4 << 10

// middle returns the part of a text that is sketched, from one word to another.
func middle(text string) (from, to int) {
	if len(text) <= sketched {
		return 0, len(text)
	}
	from = (len(text) - sketched) / 2
	return boundary(text, from), boundary(text, from+sketched)
}

// boundary returns the next place where a word ends, or the same place if that is far.
func boundary(text string, at int) int {
	for i := at; i < min(at+sketched/8, len(text)); i++ {
		if c := text[i]; c <= ' ' || isWide(c) {
			return i
		}
	}
	return at
}

// sketchOf makes a sketch of the words in the middle of a text.
func sketchOf(title string, words []uint64) sketch.Sketch {
	var minima [sketch.Bins]uint64
	for i := range minima {
		minima[i] = math.MaxUint64
	}
	before := uint64(beginning)
	for _, hash := range words {
		pair := fold(hash, before)
		before = pairWith(hash)
		bin := &minima[pair>>binShift]
		*bin = min(*bin, pair)
	}
	s := sketch.Sketch{Title: sketchTitle(title)}
	for i, m := range minima {
		if m != math.MaxUint64 {
			s.Minima[i] = uint8(1 + scale(m<<32, math.MaxUint8)) // its lower half: the upper one begins with zeros
		}
	}
	return s
}

// sketchTitle hashes the words of a title that contain neither a digit nor a slash, ignoring case. It returns 0 if
// there are none.
func sketchTitle(title string) uint32 {
	var hash uint64
	for w := range strings.FieldsSeq(title) {
		if h, ok := titleWord(w); ok {
			hash = mix(hash, h)
		}
	}
	if hash == 0 {
		return 0
	}
	return uint32(hash) | 1
}

// titleWord hashes a word without its case. It is false if the word contains a digit or a slash.
func titleWord(w string) (hash uint64, ok bool) {
	for _, r := range w {
		if r == '/' || unicode.IsDigit(r) {
			return 0, false
		}
		if r < utf8.RuneSelf {
			r = unicode.ToLower(r)
		} else {
			r = unicode.ToLower(unicode.ToUpper(r)) // final sigma is a sigma
		}
		hash = mix(hash, uint64(r))
	}
	return hash, true
}
