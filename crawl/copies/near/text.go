package near

import (
	"math/bits"
	"sync"
)

const (
	// gramWords is the number of words in a gram. A change changes all grams around it, so the ratio of changed grams to
	// changed pairs gives the number of places.
	gramWords = 8
	// maxWords is how many words of a text are sketched. Longer texts are copies only if they are equal.
	maxWords = 1 << 16
	// batchWords is how many words are hashed before they are added.
	batchWords = 4 * windowWords
	// pairParts and numberParts are how many parts a position of a sketch has, to recognise new members. Two pairs that
	// collide in one text collide in every text that has both.
	pairParts   = 512
	numberParts = 128
)

// Text holds a text's Signature and the values that a frame is learnt from.
type Text struct {
	Signature
	fine *finePlaces // nil: no frame is learnt from it
}

// finePlaces are the parts of positions of a sketch where a text has pairs.
type finePlaces [sketchBits * fineParts / 64]uint64

// fineParts is into how many parts a position of a sketch is cut for frames.
const fineParts = 16

// reader goes once over a text.
type reader struct {
	pairs   [sketchBits * pairParts / 64]uint64    // that were seen
	numbers [numeralBits * numberParts / 64]uint64 // seen numbers, with the words before them
	batch   [batchWords]word
	// last holds the hashes of the words in gram, where a number, or several in a row, are one word. before is the last
	// word's part in a pair.
	last   [gramWords]uint64
	gram   uint64
	before uint64
	words  uint
	// The sketches, with room for any number that its place may have.
	sketch [8]uint64
	grams  [4]uint64
	// The last word was a number; chain is it with the words before it.
	inNumber bool
	chain    uint64
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// Read returns the signature of a page's text, from which a frame can be learnt. The title is the document's own, "" if
// it has none, never one derived from the URL. Read returns nil for a text with fewer than MinWords pairs of words.
func Read(title, text string) *Text { return read(title, text, true) }

// Sign makes the signature as Read does, of a page that no frame is learnt from.
func Sign(title, text string) *Text { return read(title, text, false) }

func read(title, text string, frame bool) *Text {
	t := &Text{Signature: Signature{title: tokensOf(title)}}
	r := readers.Get().(*reader)
	defer readers.Put(r)
	clear(r.pairs[:])
	clear(r.numbers[:])
	r.last, r.gram, r.before, r.words, r.inNumber = [gramWords]uint64{}, 0, 0, 0, false
	r.sketch, r.grams = [8]uint64{}, [4]uint64{}
	r.read(&t.Signature, text)
	switch {
	case t.pairs < MinWords:
		return nil
	case frame:
		t.fine = r.fine()
	}
	return t
}

// fine records where pairs are: one place for each half word.
func (r *reader) fine() *finePlaces {
	f := new(finePlaces)
	for i, w := range r.pairs {
		const half = pairParts / fineParts
		var is uint64
		if w&(1<<half-1) != 0 {
			is = 1
		}
		if w>>half != 0 {
			is |= 2
		}
		f[i/32] |= is << (i % 32 * 2)
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
const aNumber = 0x5bd1e9955bd1e995

func (r *reader) read(s *Signature, text string) {
	scan := wordScanner{text: text}
	for n := 0; n < maxWords; {
		k := scan.fill(r.batch[:min(batchWords, maxWords-n)])
		if k == 0 {
			break
		}
		r.take(s, r.batch[:k])
		n += k
	}
	copy(s.sketch[:], r.sketch[:])
	copy(s.grams[:], r.grams[:])
	at := scan.at
	if _, more := scan.next(); more {
		s.cut, s.text = true, hashText(s.text, text[at:])
	}
}

// take adds words.
func (r *reader) take(s *Signature, words []word) {
	for len(words) > 0 {
		n := plain(r, s, words)
		r.inNumber = r.inNumber && n == 0
		for words = words[n:]; len(words) > 0 && words[0].number; words = words[1:] {
			r.takeNumber(s, words[0].hash)
		}
	}
}

// plainOf adds words up to the first number, and returns how many. Each word forms a pair with the one before and a
// gram with those before. A pair counts once, a gram if its last pair is new, without unpredictable branches. Hash,
// gram and sketch are updated in one loop, so that the processor runs their dependency chains in parallel.
func plainOf(r *reader, s *Signature, words []word) (n int) {
	text, gram, before, count := s.text, r.gram, r.before, r.words
	for ; n < len(words) && !words[n].number; n++ {
		hash := words[n].hash
		text = textWith(text, hash)
		gram = gram*gramStep + hash - r.last[count%gramWords]*gramOut
		r.last[count%gramWords] = hash
		count++
		p := scale(fold(hash, before), sketchBits*pairParts)
		before = pairWith(hash)
		seen := r.pairs[p/64]
		isNew := ^(seen >> (p % 64)) & 1
		r.pairs[p/64] = seen | 1<<(p%64)
		s.pairs += uint32(isNew)
		p /= pairParts
		r.sketch[p/64%8] ^= isNew << (p % 64)
		if count >= gramWords {
			g := scale(gram*prime, gramBits)
			r.grams[g/64%4] ^= isNew << (g % 64)
		}
	}
	s.text, r.gram, r.before, r.words = text, gram, before, count
	return n
}

// takeNumber adds a number together with the words before it, so that its position counts. Several in a row are one
// word.
func (r *reader) takeNumber(s *Signature, hash uint64) {
	if !r.inNumber {
		r.chain = r.before
	}
	r.chain = mix(hash, r.chain^aNumber)
	i := scale(r.chain, numeralBits*numberParts)
	if !isSet(r.numbers[:], int(i)) {
		set(r.numbers[:], int(i))
		s.numbers.toggle(i / numberParts)
	}
	text := textWith(s.text, hash)
	if !r.inNumber {
		plain(r, s, []word{{hash: aNumber}})
	}
	s.text, r.inNumber = text, true
}

// textWith returns the hash of a text and one more word.
func textWith(text, hash uint64) uint64 { return bits.RotateLeft64(text, 5)*gramStep + hash }

// pairWith returns a word's part in the pair with the next one.
func pairWith(hash uint64) uint64 { return bits.RotateLeft64(hash, 23) }

// scale brings a hash to less than n, in proportion, by its upper half.
func scale(hash uint64, n uint64) uint64 { return hash >> 32 * n >> 32 }
