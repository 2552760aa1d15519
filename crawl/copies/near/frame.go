package near

import (
	"bytes"
	"slices"
	"sync"
)

const (
	// A frame is learnt from at most maxSampled documents of a host, and used from minSampled on.
	maxSampled = 32
	minSampled = 8
	// fullSample is the number of pairs up to which a sampled document has level 0. Each level doubles the number and
	// halves the precision.
	fullSample = 640
	maxLevel   = 4
)

// Frame describes the common parts of the pages of a host: menus, headers and footers, and the name of the site in
// titles. It is learnt from the documents with the lowest keys, so the order of arrival does not matter. A Frame is
// immutable; nil means unknown.
type Frame struct {
	sampled []sampled // by key
	ready   bool      // enough of them have different texts
	learn   sync.Once
	frame   frame // once learnt
}

// frame is the result of learning.
type frame struct {
	// level is the level of most sampled documents. At level n the frame covers the lower 1/2^n of all hashes, with 2^n
	// places for each position of a sketch.
	level   int
	pairs   places              // at that level, of the frame
	size    int                 // approximate number of pairs in the frame
	known   [sketchWords]uint64 // positions of sketches at which the frame is known
	clean   [sketchWords]uint64 // those of them outside the frame
	numbers numberSet           // bits of numbers that are of the frame
	title   []token             // of the frame: in half of the titles, and without digits
	// Most titles begin and end with these tokens.
	before, after []token
}

// sampled is a frame's data about a document.
type sampled struct {
	key     Key
	text    uint64
	n       uint32 // of pairs
	level   int
	pairs   places // that have any
	numbers numberSet
	title   tokens
}

// Ready reports whether enough documents are known to determine what the host's pages share. Before that, only pages
// with the same words are copies.
func (f *Frame) Ready() bool { return f != nil && f.ready }

// Full reports whether the frame has its maximum number of documents.
func (f *Frame) Full() bool { return f != nil && len(f.sampled) == maxSampled }

// known learns the frame when it is first needed.
func (f *Frame) known() *frame {
	f.learn.Do(func() { f.frame = learn(f.different()) })
	return &f.frame
}

// different returns the documents with different texts.
func (f *Frame) different() []*sampled {
	all := make([]*sampled, 0, len(f.sampled))
	for i := range f.sampled {
		s := &f.sampled[i]
		if !slices.ContainsFunc(all, func(o *sampled) bool { return o.text == s.text }) {
			all = append(all, s)
		}
	}
	return all
}

// titleVariants is the maximum number of variants of a title.
const titleVariants = 4

// variants calls fn with a title without the common prefix and suffix of the host's titles, and with them.
func (f *Frame) variants(title *tokens, fn func(tokens)) {
	if !f.Ready() {
		return
	}
	k := f.known()
	_, own, _ := title.affixes(k.title)
	if len(own) == 0 {
		return
	}
	for _, parts := range [titleVariants][3][]token{{own}, {own, k.after}, {k.before, own}, {k.before, own, k.after}} {
		if t, ok := joined(parts[:]...); ok {
			fn(t)
		}
	}
}

// Takes reports whether the frame would use a document of its host. Once it returns false for a document, it always
// does.
func (f *Frame) Takes(key Key) bool {
	return !f.Full() || bytes.Compare(key[:], f.sampled[maxSampled-1].key[:]) <= 0
}

// With returns the frame with a document of the host added, or its new text; f itself if that changes nothing. Copies
// are added too, so their order does not matter.
func (f *Frame) With(key Key, t *Text) *Frame {
	var all []sampled
	if f != nil {
		all = f.sampled
	}
	i, found := slices.BinarySearchFunc(all, key, func(s sampled, k Key) int { return bytes.Compare(s.key[:], k[:]) })
	if i == maxSampled || t.fine == nil {
		return f
	}
	s := sample(key, t)
	switch {
	case found && all[i] == s:
		return f
	case found:
		all = slices.Clone(all)
		all[i] = s
	default:
		all = slices.Insert(slices.Clip(all), i, s)
		all = all[:min(len(all), maxSampled)]
	}
	return newFrame(all)
}

// newFrame returns a frame of documents.
func newFrame(all []sampled) *Frame {
	f := &Frame{sampled: all}
	f.ready = len(f.different()) >= minSampled
	return f
}

// sample extracts the data of a document for a frame.
func sample(key Key, t *Text) sampled {
	s := sampled{key: key, text: t.text, n: t.pairs, numbers: t.numbers, title: t.title}
	for n := t.pairs; n > fullSample && s.level < maxLevel; n /= 2 {
		s.level++
	}
	parts := fineParts >> s.level
	for place := range sketchBits {
		if anySet(t.fine[:], place*parts, parts) {
			set(s.pairs[:], place)
		}
	}
	return s
}

func set(bits []uint64, i int)        { bits[i/64] |= 1 << (i % 64) }
func isSet(bits []uint64, i int) bool { return bits[i/64]>>(i%64)&1 != 0 }

// anySet reports whether one of n adjacent bits of a word is set; n is a power of two.
func anySet(bits []uint64, from, n int) bool {
	return bits[from/64]>>(from%64)&(1<<n-1) != 0
}
