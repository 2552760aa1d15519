package near

import "math/bits"

// Characters from U+3000 to U+DFFF begin with one of these bytes.
const firstWide, lastWide = 0xe3, 0xed

func isWide(c byte) bool { return c >= firstWide && c <= lastWide }

const (
	highs = 0x8080808080808080
	ones  = 0x0101010101010101
)

// inRange sets the highest bit of each of eight bytes below 0x80 that lies between two bounds; the other bits are
// undefined.
func inRange(x, from, to uint64) uint64 {
	return (x + (0x80-from)*ones) &^ (x + (0x7f-to)*ones)
}

// gather combines the highest bits of eight bytes, whose other bits are zero, into eight bits.
func gather(x uint64) uint64 { return x >> 7 * 0x0102040810204080 >> 56 }

// foldCase converts the ASCII letters among eight bytes of a word to lower case. Of the signs, six become another one.
func foldCase(x uint64) uint64 { return x | ^x>>2&(0x20*ones) }

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

// fold folds the product of two numbers into one. It mixes less well than mix, but well enough if both are hashes.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// mix hashes two numbers into one.
func mix(a, b uint64) uint64 {
	h := fold(a^prime, b^0xd1b54a32d192ed03)
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>29
}

// beginning is the first word's other part in its pair.
const beginning = prime

// pairWith returns a word's part in the pair with the next one: fold hashes both.
func pairWith(hash uint64) uint64 { return bits.RotateLeft64(hash, 23) }

// scale maps a hash proportionally to a number less than n, using its upper half.
func scale(hash uint64, n uint64) uint64 { return hash >> 32 * n >> 32 }

// hashText continues a hash with all bytes of a text.
func hashText(hash uint64, text string) uint64 {
	hash = mix(hash, uint64(len(text)))
	i := 0
	for ; i+8 <= len(text); i += 8 {
		hash = fold(hash^eightBytes(text, i), prime)
	}
	for ; i < len(text); i++ {
		hash = (hash ^ uint64(text[i])) * prime
	}
	return mix(hash, 1)
}
