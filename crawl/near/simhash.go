package near

import (
	"math/bits"
	"sync"
)

// Distance is in how many bits, of 64, near-duplicates differ at most.
const Distance = 3

// MinWords is how many words a text must have for its fingerprint to tell: of two
// shorter ones, one word is too much of the whole.
const MinWords = 50

// Simhash is the fingerprint of a text and how many words it has. Words are runs of
// letters and digits, compared without the case of ASCII letters; of scripts that put
// no spaces between words each character is one. What counts is pairs of words, each
// once: their order matters a little, where in the text they stand does not, and what a
// site repeats on all its pages does not outweigh what tells them apart. It is the same
// in every process and version, and 0 for texts without words alone.
func Simhash(text string) (hash uint64, words int) {
	var s sums
	var before uint64
	seen := newMarks(len(text))
	defer seen.release()
	for i := 0; i < len(text); {
		if kinds[text[i]] == between {
			i++
			continue
		}
		word, n := wordAt(text[i:])
		i += n
		words++
		if pair := mix(word, before); seen.mark(pair) {
			s.add(pair)
		}
		before = bits.RotateLeft64(word, 23)
	}
	if words == 0 {
		return 0, 0
	}
	if hash = s.majority(); hash == 0 {
		hash = 1
	}
	return hash, words
}

// marks tell which pairs a text had before, by a bit each: of 32 for each pair one in
// thirty is taken for another at most, the same ones each time.
type marks struct {
	bits  []uint64
	shift int
}

var markPool = sync.Pool{New: func() any { return new(marks) }}

// newMarks makes marks for a text of so many bytes.
func newMarks(size int) *marks {
	m := markPool.Get().(*marks)
	const perByte = 8 // a word and what follows it take four bytes or more
	log := max(bits.Len(uint(size*perByte)), 6)
	m.shift = 64 - log
	n := 1 << (log - 6)
	if cap(m.bits) < n {
		m.bits = make([]uint64, n)
	}
	m.bits = m.bits[:n]
	clear(m.bits)
	return m
}

// mark says whether a pair is new.
func (m *marks) mark(pair uint64) bool {
	i := pair >> m.shift
	bit := uint64(1) << (i & 63)
	isNew := m.bits[i>>6]&bit == 0
	m.bits[i>>6] |= bit
	return isNew
}

// maxPooledMarks is up to how many numbers of a marks are kept, 512 KiB.
const maxPooledMarks = 1 << 16

func (m *marks) release() {
	if cap(m.bits) <= maxPooledMarks {
		markPool.Put(m)
	}
}

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

// sums count for each bit in how many numbers it is set: number i of planes holds bit
// i of all 64 counts. Numbers are added eight at a time, by full adders.
type sums struct {
	next   [8]uint64
	n      int // in next
	planes [40]uint64
	all    int
}

func (s *sums) add(h uint64) {
	s.next[s.n] = h
	if s.n++; s.n == len(s.next) {
		s.flush()
	}
}

// adder adds three bits in each of 64 places.
func adder(a, b, c uint64) (sum, carry uint64) {
	half := a ^ b
	return half ^ c, a&b | half&c
}

func (s *sums) flush() {
	b, p := &s.next, &s.planes
	var twos, more, fours, rest, eights uint64
	p[0], twos = adder(p[0], b[0], b[1])
	p[0], more = adder(p[0], b[2], b[3])
	p[1], fours = adder(p[1], twos, more)
	p[0], twos = adder(p[0], b[4], b[5])
	p[0], more = adder(p[0], b[6], b[7])
	p[1], rest = adder(p[1], twos, more)
	p[2], eights = adder(p[2], fours, rest)
	for i := 3; eights != 0; i++ {
		p[i], eights = p[i]^eights, p[i]&eights
	}
	s.all += s.n
	s.next, s.n = [8]uint64{}, 0
}

// majority has the bits set that more than half of the numbers have.
func (s *sums) majority() (h uint64) {
	s.flush()
	for bit := range 64 {
		n := 0
		for i, plane := range s.planes[:bits.Len(uint(s.all))] {
			n |= int(plane>>bit&1) << i
		}
		if 2*n > s.all {
			h |= 1 << bit
		}
	}
	return h
}
