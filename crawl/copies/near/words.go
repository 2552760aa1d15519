package near

import (
	"encoding/binary"
	"math/bits"
)

// MinWords is the minimum number of different pairs of words for a signature: in a shorter text, one word is too large
// a part.
const MinWords = 50

// A word is a run of bytes above the space, with ASCII letters in lower case; "a&&b" and "a||b" are different words.
// Each Chinese, Japanese or Korean character is a word. A word is known by its hash, with the bit isNumber set if it
// begins with a digit, or with a digit after one sign.
const isNumber = 1

const (
	// maxWords is the number of words of a text that are compared. Longer texts are copies only if they are equal.
	maxWords = 1 << 14
	// window is the number of bytes searched for ends of words at once.
	window = 64
	// inParts is the length of the parts in which words are hashed.
	inParts = 16
)

// wordMasks select the bytes of a part by its length, as two groups of eight.
var wordMasks = func() (masks [2 * inParts][2]uint64) {
	for length := range inParts + 1 {
		for i := range length {
			masks[length][i/8] |= 0xff << (i % 8 * 8)
		}
	}
	return masks
}()

// words are the hashes of a text's words.
type words struct {
	all [maxWords]uint64
	n   int
}

// cut appends the words of a text, and returns the end of the last one: before the end of the text if there are too
// many.
func (w *words) cut(text string) (start int) {
	n, after := w.n, uint64(0)
	for i := 0; i <= len(text) && n <= maxWords-window; i += window {
		spaces, wide := edges(text[i:])
		// A word ends at each space, before each wide character, and three bytes later.
		ends := (spaces | wide | wide<<3 | after) & (uint64(2)<<(len(text)-i) - 1)
		after = wide >> (window - 3)
		for ; ends != 0; ends &= ends - 1 {
			bit := bits.TrailingZeros64(ends)
			from, end := start, i+bit
			start = end + int(spaces>>bit&1)
			switch length := end - from; {
			case length <= 0:
			case length > inParts || from+inParts > len(text):
				w.all[n] = longHash(text[from:end])
				n++
			default:
				part, mask := text[from:from+inParts], &wordMasks[length&(len(wordMasks)-1)]
				first, second := foldCase(eightBytes(part, 0))&mask[0], foldCase(eightBytes(part, 8))&mask[1]
				w.all[n] = withNumber(partHash(first, second), first)
				n++
			}
		}
	}
	w.n = n
	return min(start, len(text))
}

// withNumber sets or clears isNumber in the hash of a word that begins with some bytes.
func withNumber(hash, first uint64) uint64 {
	if c := byte(first); c <= '9' && (c >= '0' || byte(first>>8)-'0' < 10) {
		return hash | isNumber
	}
	return hash &^ isNumber
}

// longHash hashes a word of any length.
func longHash(word string) (hash uint64) {
	var begin uint64
	for i := 0; i < len(word); i += inParts {
		var part [inParts]byte
		n := copy(part[:], word[i:])
		first := foldCase(binary.LittleEndian.Uint64(part[:])) & wordMasks[n][0]
		hash = partHash(hash^first, foldCase(binary.LittleEndian.Uint64(part[8:]))&wordMasks[n][1])
		if i == 0 {
			begin = first
		}
	}
	return withNumber(hash, begin)
}

// edges returns a bit for each of the first bytes of a text that is a space, and for each at which a wide character
// begins. The end of the text is a space.
func edges(text string) (spaces, wide uint64) {
	if len(text) < window {
		return lastEdges(text)
	}
	var all uint64
	for i := 0; i < window; i += 8 {
		x := eightBytes(text, i)
		all |= x
		spaces |= gather((x&^highs+(0x7f-' ')*ones|x)&highs) << i
	}
	for i := 0; all&highs != 0 && i < window; i += 8 {
		x := eightBytes(text, i)
		wide |= gather(inRange(x&^highs, firstWide&0x7f, lastWide&0x7f)&x&highs) << i
	}
	return ^spaces, wide
}

// lastEdges is edges of a text that is shorter than a window.
func lastEdges(text string) (spaces, wide uint64) {
	spaces = 1 << len(text)
	for i, c := range []byte(text) {
		switch {
		case c <= ' ':
			spaces |= 1 << i
		case isWide(c):
			wide |= 1 << i
		}
	}
	return spaces, wide
}
