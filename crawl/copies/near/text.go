package near

import (
	"math/bits"
	"sync"
)

const (
	// gramWords is how many words a gram has. A change in one place of a text changes
	// all grams that the place is in: the more grams beyond pairs, the more places.
	gramWords = 8
	// maxWords is how many words of a text are sketched. Longer ones are copies only
	// if they are equal.
	maxWords = 1 << 16
	// fineParts is into how many parts a position of a sketch is cut for frames.
	fineParts = 16
	fineWords = sketchWords * fineParts
)

// Text is what was read out of a text: its Signature, and what a frame is learnt from.
type Text struct {
	Signature
	places [fineWords]uint64 // where pairs are
}

// reader goes once over a text.
type reader struct {
	*Text
	seen seen
	// ring are the last words, and gram is made of all of them.
	ring  [gramWords]uint64
	gram  uint64
	words int
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// Read makes the signature of a page's text. The title is the document's, "" if it has
// none: not one that was made of the URL. Of a text of fewer than MinWords pairs of
// words there is none: nil.
func Read(title, text string) *Text {
	t := &Text{Signature: Signature{title: tokensOf(title)}}
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.Text, r.ring, r.gram, r.words = t, [gramWords]uint64{}, 0, 0
	// Most texts bring one hash for six bytes, and none more than three for four.
	r.seen.reset(min(len(text)/2+1, 2*maxWords))
	r.read(text)
	r.Text = nil
	if t.pairs < MinWords {
		return nil
	}
	return t
}

// gramStep makes grams, gramOut takes the oldest word out of one.
const gramStep = 0x9e3779b97f4a7c55

var gramOut = func() uint64 {
	p := uint64(1)
	for range gramWords {
		p *= gramStep
	}
	return p
}()

// aNumber stands for all numbers in pairs and grams, and for several in a row.
const aNumber = 0x5bd1e9955bd1e995

func (r *reader) read(text string) {
	scan := wordScanner{text: text}
	var before, chain uint64
	inNumber := false
	for n := 0; ; n++ {
		w, ok := scan.next()
		if !ok {
			break
		}
		if n == maxWords {
			r.cut, r.text = true, hashText(r.text, text[scan.at:])
			break
		}
		r.text = bits.RotateLeft64(r.text, 5)*gramStep + w.hash
		if w.number {
			// What stands before a number is part of it, so that each counts where it is.
			if !inNumber {
				chain = before
			}
			chain = mix(w.hash, chain^aNumber)
			if r.seen.add(chain) {
				r.numbers.toggle(chain)
			}
			if inNumber {
				continue
			}
			w.hash = aNumber
		}
		inNumber = w.number
		r.word(w.hash, before)
		before = bits.RotateLeft64(w.hash, 23)
	}
}

// word takes in a word, which makes a pair with the one before and a gram with those
// before. Each pair counts once, and a gram where its last pair is new.
func (r *reader) word(hash, before uint64) {
	at := r.words % gramWords
	r.gram = r.gram*gramStep + hash - r.ring[at]*gramOut
	r.ring[at] = hash
	r.words++
	pair := mix(hash, before)
	if !r.seen.add(pair) {
		return
	}
	r.pairs++
	p := scale(pair, fineParts*sketchBits)
	r.places[p/64] |= 1 << (p % 64)
	p /= fineParts
	r.sketch[p/64] ^= 1 << (p % 64)
	if r.words >= gramWords {
		g := scale(mix(r.gram, 0), gramBits)
		r.grams[g/64] ^= 1 << (g % 64)
	}
}

// scale brings a hash to less than n, in proportion.
func scale(hash, n uint64) uint64 {
	hi, _ := bits.Mul64(hash, n)
	return hi
}
