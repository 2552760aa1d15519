package near

import (
	"math/bits"
	"slices"
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
	// The last word was a number, and chain is it with the words before it.
	inNumber bool
	chain    uint64
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// Head makes the head of a page's signature. The title is the document's, "" if it has none: not
// one that was made of the URL. A text of fewer than MinWords pairs of words has no signature.
func Head(title, text string) (s Signature) {
	if !isShort(text) {
		s.text, s.title = max(hashText(0, text), 1), tokensOf(title)
	}
	return s
}

// isShort reports whether a text has fewer than MinWords different pairs of words.
func isShort(text string) bool {
	var batch [2 * windowWords]word
	var seen [MinWords]uint64
	n, before, scan := 0, uint64(0), wordScanner{text: text}
	for k := scan.fill(batch[:]); k > 0; k = scan.fill(batch[:]) {
		for i := range batch[:k] {
			hash := batch[i].hash
			if batch[i].number {
				hash = aNumber
			}
			pair := fold(hash, before)
			before = pairWith(hash)
			if slices.Contains(seen[:n], pair) {
				continue
			}
			seen[n] = pair
			if n++; n == MinWords {
				return false
			}
		}
	}
	return true
}

// Read makes the whole signature of a page's text, from which a frame can be learnt; nil if it has none.
func Read(title, text string) *Text {
	t := &Text{Signature: Head(title, text)}
	if t.IsZero() {
		return nil
	}
	t.fine = t.complete(text, true)
	return t
}

// Sign makes the whole signature of a page that no frame is learnt from; zero if it has none.
func Sign(title, text string) Signature {
	s := Head(title, text)
	if !s.IsZero() {
		s.complete(text, false)
	}
	return s
}

// complete makes a whole signature of a text's head. If a frame is learnt from it, complete returns the places for
// that.
func (s *Signature) complete(text string, frame bool) (f *finePlaces) {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	*r = reader{}
	if r.read(s, text); frame {
		f = r.fine()
	}
	return f
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
		for i := range r.batch[:k] {
			r.take(s, r.batch[i])
		}
		n += k
	}
	_, s.cut = scan.next()
}

// take takes in a word. It makes a pair with the one before and a gram with those before. Each pair counts once, and a
// gram where its last pair is new. Several numbers in a row are one word.
func (r *reader) take(s *Signature, w word) {
	hash := w.hash
	if w.number {
		if r.takeNumber(s, hash); r.inNumber {
			return
		}
		hash = aNumber
	}
	r.inNumber = w.number
	last := &r.last[r.words%gramWords]
	r.gram = r.gram*gramStep + hash - *last*gramOut
	*last = hash
	r.words++
	pair := int(scale(fold(hash, r.before), sketchBits*pairParts))
	r.before = pairWith(hash)
	if isSet(r.pairs[:], pair) {
		return
	}
	set(r.pairs[:], pair)
	s.pairs++
	toggle(s.sketch[:], pair/pairParts)
	if r.words >= gramWords {
		toggle(s.grams[:], int(scale(r.gram*prime, gramBits)))
	}
}

// takeNumber takes in a number. What stands before is part of it, so that each counts where it is.
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
}

// pairWith is what a word brings to the pair with the next one: not what that brings.
func pairWith(hash uint64) uint64 { return bits.RotateLeft64(hash, 23) }

// scale brings a hash to less than n, in proportion, by its upper half.
func scale(hash uint64, n uint64) uint64 { return hash >> 32 * n >> 32 }
