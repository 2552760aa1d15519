package near

import "math/bits"

// MinWords is how many different pairs of words a text must have for a signature: of two
// shorter ones, one word is too much of the whole.
const MinWords = 50

// wordScanner goes over the words of a text: runs of letters and digits, without the case
// of ASCII letters; of Chinese, Japanese and Korean each character is one. They are hashed
// eight bytes at a time.
type wordScanner struct {
	text string
	at   int
}

// word is one word of a text.
type word struct {
	hash   uint64
	number bool // it begins with a digit
}

// next gives the next word, with the signs that stand before it: "a&&b" and "a||b" are
// of other words. It is false at the end.
func (w *wordScanner) next() (word, bool) {
	var sign uint64
	i, text := w.at, w.text
	for ; ; i++ {
		if i >= len(text) {
			w.at = i
			return word{}, false
		}
		c := text[i]
		if kinds[c] != between {
			break
		}
		if c > ' ' {
			sign = (sign ^ uint64(c)) * prime
		}
	}
	first := text[i]
	var hash uint64
	if kinds[first] == wordByte {
		var n int
		hash, n = wordAt(text[i:])
		w.at = i + n
	} else {
		hash, w.at = wordHash(text, i)
	}
	return word{hash: hash ^ sign, number: first-'0' < 10}, true
}

const prime = 0x9e3779b97f4a7c15

const (
	highs = 0x8080808080808080
	ones  = 0x0101010101010101
)

// wordHash hashes the word that begins at i, and says where it ends.
func wordHash(text string, i int) (hash uint64, end int) {
	for i+8 <= len(text) {
		x := eightBytes(text, i)
		if x&highs != 0 {
			break
		}
		n := wordBytes(x)
		if n < 8 {
			if n > 0 {
				hash = addPart(hash, (x|0x20*ones)&(1<<(8*n)-1))
			}
			return hash, i + n
		}
		hash = addPart(hash, x|0x20*ones)
		i += 8
	}
	for {
		var part uint64
		n := 0
		for ; n < 8 && i+n < len(text); n++ {
			c := folded[text[i+n]]
			if c == 0 {
				break
			}
			part |= uint64(c) << (8 * n)
		}
		if n > 0 {
			hash = addPart(hash, part)
		}
		if i += n; n < 8 {
			return hash, i
		}
	}
}

// addPart adds up to eight bytes to the hash of a word.
func addPart(hash, part uint64) uint64 {
	h := (hash ^ part) * prime
	return h ^ h>>32
}

// wordBytes is how many of eight ASCII bytes are letters and digits, before the first
// that is neither.
func wordBytes(x uint64) int {
	low := x | 0x20*ones
	letters := (low + (0x80-'a')*ones) &^ (low + (0x7f-'z')*ones)
	digits := (x + (0x80-'0')*ones) &^ (x + (0x7f-'9')*ones)
	return bits.TrailingZeros64(^(letters|digits)&highs) / 8
}

// eightBytes gives eight bytes of a text, the first one lowest.
func eightBytes(text string, i int) uint64 {
	s := text[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// hashText continues a hash with all bytes of a text.
func hashText(hash uint64, text string) uint64 {
	hash = mix(hash, uint64(len(text)))
	i := 0
	for ; i+8 <= len(text); i += 8 {
		hi, lo := bits.Mul64(hash^eightBytes(text, i), prime)
		hash = hi ^ lo
	}
	for ; i < len(text); i++ {
		hash = (hash ^ uint64(text[i])) * prime
	}
	return mix(hash, 1)
}

// seen is a set of hashes.
type seen struct {
	slots []uint32
	shift int
}

// reset empties the set, for at most n hashes.
func (s *seen) reset(n int) {
	log := max(bits.Len(uint(2*n)), 6)
	if cap(s.slots) < 1<<log {
		s.slots = make([]uint32, 1<<log)
	}
	s.slots, s.shift = s.slots[:1<<log], 64-log
	clear(s.slots)
}

// maxProbes is in how many slots a hash is looked for. Only texts that somebody made for
// it have more in a row.
const maxProbes = 128

// add puts a hash in, and says whether it is new. The upper bits choose the slot, and of
// the lower 31 are compared: in one of some 100,000 texts a hash is mistaken.
func (s *seen) add(hash uint64) bool {
	slot, mask, mark := int(hash>>s.shift), len(s.slots)-1, uint32(hash)|1
	for i := slot; i < slot+maxProbes; i++ {
		switch s.slots[i&mask] {
		case 0:
			s.slots[i&mask] = mark
			return true
		case mark:
			return false
		}
	}
	return false
}
