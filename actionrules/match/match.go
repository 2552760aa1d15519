// Package match finds which of many literals occur in a text, in time that hardly depends on their number. Rules of all
// kinds compile into it: the literals that a rule requires narrow down the rules to evaluate.
package match

import "slices"

// Kind defines where in a text a literal must occur.
type Kind uint8

// The kinds.
const (
	Exact  Kind = iota // it is the text
	Prefix             // the text begins with it
	Suffix             // the text ends with it
	Inside             // anywhere in the text
)

// literal is an entry of a Builder.
type literal struct {
	kind Kind
	text string
}

// Builder collects literals for an Index. The zero value is empty.
type Builder struct {
	numbers  map[literal]uint32
	literals []literal
}

// Add adds a literal, compared byte by byte, and returns its number. Numbers start at 0, in the order of the first Add;
// a literal that was already added keeps its number. The empty literal occurs in every text, except that with Exact it
// matches only the empty text.
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

// Grow reserves space for n more literals.
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
	empty  []uint32 // the empty literal of other kinds, which occurs in every text
	levels [len(gramSizes)]grams
}

// Build returns the index of all literals added so far. It takes about a hundred bytes per literal, plus the literals.
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

// Append appends to numbers the numbers of all literals that occur in text according to their kinds, each once, in no
// particular order. It does not allocate if numbers has room.
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
