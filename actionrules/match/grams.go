package match

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// gramSizes are the lengths, in bytes, of the pieces that literals are found by.
// A literal is found by pieces of the greatest length that it has.
var gramSizes = [...]int{1, 2, 4}

func gramLevel(text string) int {
	level := 0
	for level+1 < len(gramSizes) && gramSizes[level+1] <= len(text) {
		level++
	}
	return level
}

// commonText is made of what stands in very many URLs: a piece of it is a bad one
// to find a literal by.
const commonText = "https://www. http://www. .com/ .org/ .net/ .de/ index.html .htm .php? .aspx? &id= ?id= ?page= &page= /page/ /news/ /en/ /de/ /20"

// grams finds literals of at least size bytes anywhere in a text. Each is found by
// its piece (gram) that the fewest literals share: a bit field says which pieces
// of the text any literal is found by, and only there is compared. The literals
// with the same piece, length and place of the piece in it are one group, sorted,
// so that many of them cost little more than one.
type grams struct {
	size    int
	shift   uint // 32 less the bits of a hash
	filter  []uint64
	buckets []uint32 // by hash without its last bits, where its groups begin; one more at the end
	groups  []group
	texts   []string
	numbers []uint32
}

type group struct {
	gram           uint32
	offset, length uint32 // of the gram in the literals, of each literal
	first, end     uint32 // in texts
}

// bucketBits is how many bits of a hash only the filter uses.
const bucketBits = 4

// placed is a literal with the gram that it is found by.
type placed struct {
	numbered
	gram, offset uint32
}

func (g *grams) build(size int, literals []numbered) {
	if len(literals) == 0 {
		return
	}
	g.size = size
	width := max(6, bits.Len(uint(len(literals)))+bucketBits)
	g.shift = uint(32 - min(width, 30))
	found := g.place(literals)
	slices.SortFunc(found, func(a, b placed) int {
		return cmp.Or(cmp.Compare(g.hash(a.gram), g.hash(b.gram)), cmp.Compare(a.gram, b.gram), cmp.Compare(a.offset, b.offset),
			cmp.Compare(len(a.text), len(b.text)), strings.Compare(a.text, b.text))
	})
	g.filter = make([]uint64, (1<<(32-g.shift)+63)/64)
	g.buckets = make([]uint32, 1<<(32-g.shift-bucketBits)+1)
	for i, p := range found {
		next := group{p.gram, p.offset, uint32(len(p.text)), uint32(i), uint32(i)}
		if n := len(g.groups); n == 0 || !g.groups[n-1].accepts(next) {
			h := g.hash(p.gram)
			g.filter[h/64] |= 1 << (h % 64)
			g.buckets[h>>bucketBits+1]++
			g.groups = append(g.groups, next)
		}
		g.groups[len(g.groups)-1].end++
		g.texts = append(g.texts, p.text)
		g.numbers = append(g.numbers, p.number)
	}
	for i := range g.buckets[1:] {
		g.buckets[i+1] += g.buckets[i]
	}
}

func (g group) accepts(h group) bool {
	return g.gram == h.gram && g.offset == h.offset && g.length == h.length
}

// place chooses for each literal the gram that the fewest share.
func (g *grams) place(literals []numbered) []placed {
	counts := make(map[uint32]uint32, len(literals))
	g.each(commonText, func(_ int, gram uint32) { counts[gram] += uint32(len(literals)) })
	for _, l := range literals {
		g.each(l.text, func(_ int, gram uint32) { counts[gram]++ })
	}
	found := make([]placed, len(literals))
	for i, l := range literals {
		p := placed{numbered: l}
		fewest := ^uint32(0)
		g.each(l.text, func(at int, gram uint32) {
			if n := counts[gram]; n < fewest {
				fewest, p.gram, p.offset = n, gram, uint32(at)
			}
		})
		found[i] = p
	}
	return found
}

// each calls f for every gram of text, with its place.
func (g *grams) each(text string, f func(at int, gram uint32)) {
	var gram uint32
	for i := range len(text) {
		gram = g.roll(gram, text[i])
		if at := i + 1 - g.size; at >= 0 {
			f(at, gram)
		}
	}
}

// roll drops the first byte of a gram and puts another at its end.
func (g *grams) roll(gram uint32, c byte) uint32 {
	return gram>>8 | uint32(c)<<(8*uint(g.size)-8)
}

func (g *grams) hash(gram uint32) uint32 { return gram * 0x9e3779b1 >> g.shift }

func (g *grams) appendTo(numbers []uint32, text string) []uint32 {
	before := len(numbers)
	top, shift, filter := 8*uint(g.size)-8, g.shift, g.filter
	var gram uint32
	for i := range len(text) {
		gram = gram>>8 | uint32(text[i])<<(top&31)
		h := gram * 0x9e3779b1 >> (shift & 31)
		if filter[h/64]>>(h%64)&1 != 0 && i+1 >= g.size {
			numbers = g.appendAt(numbers, text, i+1-g.size, gram)
		}
	}
	if len(numbers) > before+1 { // one literal can stand in several places
		slices.Sort(numbers[before:])
		numbers = numbers[:before+len(slices.Compact(numbers[before:]))]
	}
	return numbers
}

// appendAt appends the literals whose gram is this one and stands at this place.
func (g *grams) appendAt(numbers []uint32, text string, at int, gram uint32) []uint32 {
	bucket := g.hash(gram) >> bucketBits
	for _, gr := range g.groups[g.buckets[bucket]:g.buckets[bucket+1]] {
		begin := at - int(gr.offset)
		if gr.gram != gram || begin < 0 || begin+int(gr.length) > len(text) {
			continue
		}
		candidates := g.texts[gr.first:gr.end]
		if i, ok := slices.BinarySearch(candidates, text[begin:begin+int(gr.length)]); ok {
			numbers = append(numbers, g.numbers[int(gr.first)+i])
		}
	}
	return numbers
}
