package near

import (
	"math/bits"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

const (
	// gramWords is the number of words in a gram. A change changes all grams around it, so the ratio of changed grams to
	// changed pairs gives the number of places.
	gramWords = 8
	// parts is the number of parts of a sketch position, used to recognize new members. Two members that collide in one
	// text collide in every text that has both.
	parts = 128
)

// Text holds a text's Signature, its Sketch, and the values that a frame is learnt from.
type Text struct {
	Signature
	Sketch sketch.Sketch
	fine   *finePlaces // nil: no frame is learnt from it
}

// finePlaces are the parts of positions of a sketch where a text has pairs.
type finePlaces [sketchBits * fineParts / 64]uint64

// fineParts is the number of parts into which a sketch position is divided for frames: a byte of its parts each.
const fineParts = parts / 8

// reader reads a text once.
type reader struct {
	words
	pairs   [sketchBits * parts / 64]uint64  // seen so far
	numbers [numeralBits * parts / 64]uint64 // seen numbers, with the words before them
	// text is the hash of the words, where a number, or several in a row, are one word; last holds those after the last
	// words, numberText is the hash of the numbers. before is the last word's part in a pair.
	text, numberText uint64
	last             [gramWords]uint64
	before           uint64
	count            uint
	grams            [4]uint64 // the sketch, with room for any number that its place may have
	// Set if the last word was a number; chain is its hash with the words before it.
	inNumber bool
	chain    uint64
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// Read returns the signature and the sketch of a document, from which a frame can be learnt. The title is the
// document's own, "" if it has none, never one derived from the URL. Read returns nil for a text with fewer than
// MinWords pairs of words.
func Read(title, text string) *Text { return read(title, text, true) }

// Sign does the same as Read for a document from which no frame is learnt.
func Sign(title, text string) *Text { return read(title, text, false) }

func read(title, text string, frame bool) *Text {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	t := new(Text)
	from, to := middle(text)
	r.n = 0
	at := r.cut(text[:from])
	first := r.n
	at += r.cut(text[at:to])
	last := r.n
	at += r.cut(text[at:])
	r.sign(&t.Signature)
	if t.pairs < MinWords {
		return nil
	}
	if at < len(text) {
		t.cut, t.text = true, hashText(t.text, text[at:])
	}
	t.title = tokensOf(title)
	if t.Sketch = sketchOf(title, r.all[first:last]); at < to {
		t.Sketch = SketchOf(title, text)
	}
	if frame {
		t.fine = r.fine()
	}
	return t
}

// SketchOf returns the sketch of a document, made from the pairs of consecutive words in the middle of its text,
// numbers included. The first word also makes a pair with the beginning, so a text of one word has a pair.
//
// Stored sketches are compared with those of later versions of the program, so a document must always have the same
// sketch.
func SketchOf(title, text string) sketch.Sketch {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	from, to := middle(text)
	r.n = 0
	r.cut(text[from:to])
	return sketchOf(title, r.all[:r.n])
}

// fine records where pairs are.
func (r *reader) fine() *finePlaces {
	f := new(finePlaces)
	for i, w := range r.pairs {
		f[i/8] |= gather((w&^highs+0x7f*ones|w)&highs) << (i % 8 * 8)
	}
	return f
}

// gramStep extends a gram by a word, gramOut removes its oldest word: gramStep to the power of the gram's length.
const (
	gramStep  = 0x9e3779b97f4a7c55
	gramStep2 = gramStep * gramStep % (1 << 64)
	gramStep4 = gramStep2 * gramStep2 % (1 << 64)
	gramOut   = gramStep4 * gramStep4 % (1 << 64)
)

// aNumber replaces each number, or several in a row, in pairs and grams.
const aNumber = 0x5bd1e9955bd1e994

// sign computes the signature of the words, except for the title.
func (r *reader) sign(s *Signature) {
	clear(r.pairs[:])
	clear(r.numbers[:])
	r.text, r.numberText, r.last, r.before, r.count = 0, 0, [gramWords]uint64{}, beginning, 0
	r.grams, r.inNumber = [4]uint64{}, false
	for words := r.all[:r.n]; len(words) > 0; {
		n := r.plain(words)
		r.inNumber = r.inNumber && n == 0
		for words = words[n:]; len(words) > 0 && words[0]&isNumber != 0; words = words[1:] {
			r.number(words[0])
		}
	}
	s.text = mix(r.text, r.numberText)
	for i := range sketchBits {
		n, odd := parted(r.pairs[:], i)
		s.sketch[i/64] |= odd << (i % 64)
		s.pairs += uint32(n)
	}
	for i := range numeralBits {
		_, odd := parted(r.numbers[:], i)
		s.numbers[i/32] |= uint32(odd) << (i % 32)
	}
	copy(s.grams[:], r.grams[:])
}

// parted returns the number of members at a sketch position, and its lowest bit.
func parted(set []uint64, at int) (n int, odd uint64) {
	for _, w := range set[at*parts/64:][:parts/64] {
		n += bits.OnesCount64(w)
	}
	return n, uint64(n & 1)
}

// plain adds words up to the first number, and returns how many. Each word forms a pair with the one before and a gram
// with those before. A pair counts once, a gram if its last pair is new, without unpredictable branches.
func (r *reader) plain(words []uint64) (n int) {
	text, before, count := r.text, r.before, r.count
	for ; n < len(words) && words[n]&isNumber == 0; n++ {
		hash := words[n]
		text = text*gramStep + hash
		gram := text - r.last[count%gramWords]*gramOut
		r.last[count%gramWords] = text
		count++
		p := scale(fold(hash, before), sketchBits*parts)
		before = pairWith(hash)
		seen := r.pairs[p/64]
		isNew := ^(seen >> (p % 64)) & 1
		r.pairs[p/64] = seen | 1<<(p%64)
		g := scale(gram, gramBits)
		r.grams[g/64%4] ^= isNew << (g % 64)
	}
	r.text, r.before, r.count = text, before, count
	return n
}

// number adds a number together with the words before it, so that its position counts. Several in a row are one word.
func (r *reader) number(hash uint64) {
	if !r.inNumber {
		r.chain = r.before
		r.plain([]uint64{aNumber})
		r.inNumber = true
	}
	r.chain = mix(hash, r.chain^aNumber)
	r.numberText = r.numberText*gramStep + r.chain
	set(r.numbers[:], int(scale(r.chain, numeralBits*parts)))
}
