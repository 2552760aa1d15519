// Package match finds which of many literals stand in a text, in time that hardly
// depends on how many there are. Rules of all kinds compile into it: what a rule
// needs to hold narrows down the rules to look at.
package match

import "slices"

// Kind is where in a text a literal has to stand.
type Kind uint8

// The kinds.
const (
	Exact  Kind = iota // it is the text
	Prefix             // the text begins with it
	Suffix             // the text ends with it
	Inside             // it stands anywhere in the text
)

// literal is what a Builder collects.
type literal struct {
	kind Kind
	text string
}

// Builder collects literals for an Index. The zero value is empty.
type Builder struct {
	numbers  map[literal]uint32
	literals []literal
}

// Add takes in a literal, compared byte by byte, and returns its number: they
// count from 0 in the order of their first Add, and one that is there already
// has the number that it got then. The empty literal stands in every text, but
// is (Exact) the empty one only.
func (b *Builder) Add(kind Kind, text string) uint32 {
	l := literal{kind, text}
	if n, ok := b.numbers[l]; ok {
		return n
	}
	if b.numbers == nil {
		b.numbers = map[literal]uint32{}
	}
	n := uint32(len(b.literals))
	b.numbers[l] = n
	b.literals = append(b.literals, l)
	return n
}

// Grow makes room for n literals more.
func (b *Builder) Grow(n int) {
	b.literals = slices.Grow(b.literals, n)
	if b.numbers == nil {
		b.numbers = make(map[literal]uint32, n)
	}
}

// Index is an immutable set of literals, safe for concurrent use. The zero value
// is empty.
type Index struct {
	blank  []uint32 // the empty literal as the whole text
	empty  []uint32 // the empty literal of other kinds, which stands in every text
	levels [len(gramSizes)]grams
}

// Build makes the index of all literals added so far. Its memory is about a
// hundred bytes a literal beside the literals themselves.
func (b *Builder) Build() *Index {
	x := new(Index)
	var levels [len(gramSizes)][]numbered
	for i, l := range b.literals {
		n := numbered{l, uint32(i)}
		switch {
		case l.text == "" && l.kind == Exact:
			x.blank = append(x.blank, n.number)
		case l.text == "":
			x.empty = append(x.empty, n.number)
		default:
			level := gramLevel(l.text)
			levels[level] = append(levels[level], n)
		}
	}
	for i := range levels {
		x.levels[i].build(gramSizes[i], levels[i])
	}
	return x
}

// numbered is a literal with its number.
type numbered struct {
	literal
	number uint32
}

// Append appends to numbers those of all literals that stand in text as their
// kinds say, each once, in no particular order. It allocates nothing where
// numbers has room.
func (x *Index) Append(numbers []uint32, text string) []uint32 {
	numbers = append(numbers, x.empty...)
	if text == "" {
		return append(numbers, x.blank...)
	}
	for i := range x.levels {
		if x.levels[i].size > 0 {
			numbers = x.levels[i].appendTo(numbers, text)
		}
	}
	return numbers
}
