package near

import "math/bits"

const (
	between = iota // words
	inWord
	wordByte // first of a character that is a word
)

var kinds = func() (k [256]uint8) {
	for c := range k {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80, c >= 'A' && c <= 'Z':
			k[c] = inWord
		}
		if c >= 0xe3 && c <= 0xed { // U+3000 to U+DFFF
			k[c] = wordByte
		}
	}
	return k
}()

// folded are the bytes inside of words, with ASCII letters in lower case; 0 ends a word.
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

// wordAt hashes the word that text begins with, and gives its length.
func wordAt(text string) (hash uint64, length int) {
	if kinds[text[0]] == wordByte {
		if len(text) < 3 || text[1]&text[2]&0xc0 != 0x80 || (text[1]|text[2])&0x40 != 0 { // one that was cut
			return mix(uint64(text[0]), 1), 1
		}
		return mix(uint64(text[0])<<16|uint64(text[1])<<8|uint64(text[2]), 3), 3
	}
	const prime = 0x9e3779b97f4a7c15
	for length < len(text) {
		c := folded[text[length]]
		if c == 0 {
			break
		}
		hash = (hash ^ uint64(c)) * prime
		length++
	}
	return hash ^ hash>>32, length
}

// mix hashes two numbers into one.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd1b54a32d192ed03)
	h := hi ^ lo
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>29
}
