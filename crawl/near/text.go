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

// Text is what was read out of a text.
type Text struct {
	Signature
	places [fineWords]uint64 // where pairs are
}

// reader goes once over a text.
type reader struct {
	*Text
	frame *Frame
	seen  seen
	// ring are the last words, and gram is made of all of them.
	ring  [gramWords]uint64
	gram  uint64
	words int
	// low are the pairs with the least hashes that are not of the frame, tags what
	// stands there.
	low  [gramTags]uint64
	tags [gramTags]uint32
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// Read makes the signature of a page's text. The title is the document's, "" if it has
// none: not one that was made of the URL. The frame is that of the page's host; a page
// that was read before its frame was ready is found as an original by its title only.
func Read(title, text string, frame *Frame) *Text {
	t := &Text{Signature: Signature{equal: uint32(hashText(hashText(0, title), text)), title: tokensOf(title)}}
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.begin(t, frame, len(text))
	r.read(text)
	r.Text, r.frame = nil, nil
	return t
}

func (r *reader) begin(t *Text, frame *Frame, size int) {
	r.Text, r.frame = t, nil
	if frame.Ready() {
		r.frame = frame
	}
	// Most texts bring one hash for six bytes, and none more than three for four.
	r.seen.reset(min(size/2+1, 2*maxWords))
	r.ring, r.gram, r.words = [gramWords]uint64{}, 0, 0
	for i := range r.low {
		r.low[i], r.tags[i] = ^uint64(0), 0
	}
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
			r.cut = true
			break
		}
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
	if r.frame != nil {
		r.framed = true
		if r.frame.own(&r.Signature) >= minTagged {
			r.Signature.tags = r.tags
		}
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
	if pair < r.low[gramTags-1] && r.frame != nil && !r.frame.has(pair) {
		r.tag(pair, at)
	}
}

// tag keeps one of the lowest pairs, with the two words before it.
func (r *reader) tag(pair uint64, at int) {
	second, third := r.ring[(at+gramWords-2)%gramWords], r.ring[(at+gramWords-3)%gramWords]
	tag := uint32(mix(pair, second^bits.RotateLeft64(third, 31))>>32) | 1
	for i := range r.low {
		if pair < r.low[i] {
			pair, r.low[i] = r.low[i], pair
			tag, r.tags[i] = r.tags[i], tag
		}
	}
}

// scale brings a hash to less than n, in proportion.
func scale(hash, n uint64) uint64 {
	hi, _ := bits.Mul64(hash, n)
	return hi
}
