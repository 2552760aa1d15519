package near

import "math/bits"

const (
	between = iota // words
	inWord
	wordByte // first of a character that is a word
)

// Characters from U+3000 to U+DFFF begin with one of these bytes.
const firstWide, lastWide = 0xe3, 0xed

var kinds = func() (k [256]uint8) {
	for c := range k {
		switch {
		case c >= firstWide && c <= lastWide:
			k[c] = wordByte
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80, c >= 'A' && c <= 'Z':
			k[c] = inWord
		}
	}
	return k
}()

// folded holds the bytes of words, with ASCII letters in lower case; 0 ends a word.
var folded = func() (f [256]uint8) {
	for c, kind := range kinds {
		if kind == inWord {
			f[c] = uint8(c)
		}
		if c >= 'A' && c <= 'Z' {
			f[c] |= 0x20
		}
	}
	return f
}()

// wideAt hashes the character at the start of text, which is a word by itself, and returns its length.
func wideAt(text string) (hash uint64, length int) {
	if len(text) < 3 || text[1]&text[2]&0xc0 != 0x80 || (text[1]|text[2])&0x40 != 0 { // one that was cut
		return mix(uint64(text[0]), 1), 1
	}
	return mix(uint64(text[0])<<16|uint64(text[1])<<8|uint64(text[2]), 3), 3
}

const (
	highs = 0x8080808080808080
	ones  = 0x0101010101010101
)

// inRange sets the highest bit of each of eight bytes below 0x80 that lies between two bounds; the other bits are
// undefined.
func inRange(x, from, to uint64) uint64 {
	return (x + (0x80-from)*ones) &^ (x + (0x7f-to)*ones)
}

// gather makes eight bits of the highest bits of eight bytes, whose other bits are zero.
func gather(x uint64) uint64 { return x >> 7 * 0x0102040810204080 >> 56 }

// foldCase converts the letters among eight bytes of a word to lower case. The only other ASCII characters there are
// digits, which have the bit already.
func foldCase(x uint64) uint64 { return x | 0x20*ones&^(x&highs>>2) }

// eightBytes returns eight bytes of a text, the first one lowest.
func eightBytes(text string, i int) uint64 {
	s := text[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

const prime = 0x9e3779b97f4a7c15

// partHash hashes sixteen bytes.
func partHash(first, second uint64) uint64 {
	h := first*prime + second*0xd1b54a32d192ed03
	return h ^ h>>32
}

// fold makes one number of the product of two. It is not as good as mix, and enough where
// both are hashes.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^prime, b^0xd1b54a32d192ed03)
	return hi ^ lo
}

// mix hashes two numbers into one.
func mix(a, b uint64) uint64 {
	h := fold(a, b)
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>29
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
