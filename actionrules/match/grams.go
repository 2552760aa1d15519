package match

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// gramSizes are the lengths, in bytes, of the pieces that literals are found by.
// A literal is found by a piece of the greatest length that it has.
var gramSizes = [...]int{1, 2, 4, 8}

func gramLevel(text string) int {
	level := 0
	for level+1 < len(gramSizes) && gramSizes[level+1] <= len(text) {
		level++
	}
	return level
}

const (
	// commonText consists of parts of very many URLs: its pieces are bad keys for literals.
	commonText = "https://www. http://www. .com/ .org/ .net/ .de/ index.html .htm .php? .aspx? &id= ?id= ?page= &page= /page/ /news/ /en/ /de/ /20"
	// searched is the length of a literal that is searched for a good gram.
	searched = 256
)

// grams finds literals of at least size bytes. Each is found by a piece of it (gram), the one that the fewest literals
// share. A bit field records which grams exist; the table is read only for those. Literals of one kind with the same
// gram, length and offset form one sorted group, so a large group costs little more than one literal.
type grams struct {
	size int
	// filter has two bits for each gram, in one word.
	filter []uint64
	shift  uint // shift of a hash, to get the word
	// table holds the groups by hash, with linear probing.
	table   []group
	texts   string   // the literals of each group, one after the other
	numbers []uint32 // numbers of the literals in groups of several
	// head and tail are the lengths examined at both ends of a text if no literal is Inside.
	head, tail int
}

// group is the set of literals that share a gram.
type group struct {
	gram   uint64
	length uint32 // of each literal; 0 is a free place of the table
	first  uint32 // where in texts they begin
	count  uint32
	number uint32 // of the literal; of several the place of the first in numbers
	offset uint16 // position of the gram in the literals
	kind   Kind
}

// placed is a literal with its gram.
type placed struct {
	numbered
	gram   uint64
	offset uint16
}

func (g *grams) build(size int, literals []numbered) {
	if len(literals) == 0 {
		return
	}
	g.size = size
	found := g.place(literals)
	slices.SortFunc(found, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.gram, b.gram), cmp.Compare(a.offset, b.offset), cmp.Compare(a.kind, b.kind),
			cmp.Compare(len(a.text), len(b.text)), strings.Compare(a.text, b.text))
	})
	var groups []group
	var texts strings.Builder
	for _, p := range found {
		next := group{p.gram, uint32(len(p.text)), uint32(texts.Len()), 0, uint32(len(g.numbers)), p.offset, p.kind}
		if n := len(groups); n == 0 || !groups[n-1].accepts(next) {
			groups = append(groups, next)
		}
		groups[len(groups)-1].count++
		g.widen(p)
		texts.WriteString(p.text)
		g.numbers = append(g.numbers, p.number)
	}
	g.texts = texts.String()
	g.fill(groups)
}

// widen extends the examined lengths to include the literal.
func (g *grams) widen(p placed) {
	switch p.kind {
	case Exact, Prefix:
		g.head = max(g.head, int(p.offset)+g.size)
	case Suffix:
		g.tail = max(g.tail, len(p.text)-int(p.offset))
	case Inside:
		g.head = math.MaxInt
	}
}

func (g *group) accepts(h group) bool {
	return g.gram == h.gram && g.offset == h.offset && g.kind == h.kind && g.length == h.length
}

// fill builds the table and the filter, of 16 bits a group.
func (g *grams) fill(groups []group) {
	width := bits.Len(uint(len(groups)))
	g.shift = uint(64 - max(width-2, 1))
	g.filter = make([]uint64, 1<<(64-g.shift))
	g.table = make([]group, 2<<width)
	for _, gr := range groups {
		h := hash(gr.gram)
		g.filter[h>>g.shift] |= bitsOf(h, g.shift)
		if gr.count == 1 {
			gr.number = g.numbers[gr.number]
		}
		i := g.slot(h)
		for g.table[i].length > 0 {
			i = (i + 1) % len(g.table)
		}
		g.table[i] = gr
	}
}

func hash(gram uint64) uint64 { return gram * 0x9e3779b97f4a7c15 }

func bitsOf(h uint64, shift uint) uint64 {
	return 1<<(h>>((shift-6)&63)&63) | 1<<(h>>((shift-12)&63)&63)
}

// slot returns the index of the table at which the search for a hash begins.
func (g *grams) slot(h uint64) int { return int(h >> (64 - uint(bits.Len(uint(len(g.table)-1))))) }

// place chooses for each literal the gram that the fewest share.
func (g *grams) place(literals []numbered) []placed {
	// Counted by hash: a gram that shares its counter with another only seems less rare.
	shift := uint(64 - max(bits.Len(uint(len(literals)))+2, 10))
	counts := make([]uint32, 1<<(64-shift))
	g.each(commonText, func(_ int, gram uint64) { counts[hash(gram)>>shift] += uint32(len(literals)) })
	for _, l := range literals {
		g.each(l.text, func(_ int, gram uint64) { counts[hash(gram)>>shift]++ })
	}
	found := make([]placed, len(literals))
	for i, l := range literals {
		p := placed{numbered: l}
		fewest := ^uint32(0)
		g.each(l.text, func(at int, gram uint64) {
			if n := counts[hash(gram)>>shift]; n < fewest {
				fewest, p.gram, p.offset = n, gram, uint16(at)
			}
		})
		found[i] = p
	}
	return found
}

// each calls f for the grams of the beginning of text, with their positions.
func (g *grams) each(text string, f func(at int, gram uint64)) {
	var gram uint64
	for i := range min(len(text), searched) {
		gram = gram>>8 | uint64(text[i])<<(8*g.size-8)
		if at := i + 1 - g.size; at >= 0 {
			f(at, gram)
		}
	}
}

func (g *grams) appendTo(numbers []uint32, text string) []uint32 {
	before := len(numbers)
	if g.head > 0 {
		numbers = g.appendFrom(numbers, text, 0, min(g.head, len(text)))
	}
	if g.tail > 0 && g.head < len(text) {
		// The last grams that were looked at end at head.
		numbers = g.appendFrom(numbers, text, max(0, len(text)-g.tail, g.head-g.size+1), len(text))
	}
	if len(numbers) > before+1 { // one literal can be found at several places
		slices.Sort(numbers[before:])
		numbers = numbers[:before+len(slices.Compact(numbers[before:]))]
	}
	return numbers
}

// appendFrom appends the literals whose grams are at offsets i to j.
func (g *grams) appendFrom(numbers []uint32, text string, i, j int) []uint32 {
	top, shift, filter := uint(8*g.size-8)&63, g.shift&63, g.filter
	full := i + g.size - 1 // from there on there are whole grams
	var gram uint64
	for ; i < min(full, j); i++ {
		gram = gram>>8 | uint64(text[i])<<top
	}
	for ; i < j; i++ {
		gram = gram>>8 | uint64(text[i])<<top
		h := hash(gram)
		if want := bitsOf(h, shift); filter[h>>shift]&want == want {
			numbers = g.appendAt(numbers, text, i+1-g.size, gram)
		}
	}
	return numbers
}

// appendAt appends the literals whose gram is at this offset.
func (g *grams) appendAt(numbers []uint32, text string, at int, gram uint64) []uint32 {
	for i := g.slot(hash(gram)); ; i = (i + 1) % len(g.table) {
		gr := &g.table[i]
		if gr.length == 0 {
			return numbers
		}
		begin := at - int(gr.offset)
		end := begin + int(gr.length)
		if gr.gram != gram || begin < 0 || end > len(text) ||
			begin > 0 && gr.kind <= Prefix || end < len(text) && (gr.kind == Exact || gr.kind == Suffix) {
			continue
		}
		numbers = g.appendEqual(numbers, gr, text[begin:end])
	}
}

// appendEqual appends the literal of a group that equals text.
func (g *grams) appendEqual(numbers []uint32, gr *group, text string) []uint32 {
	texts := g.texts[gr.first:]
	low, high := 0, int(gr.count)
	for high-low > 1 {
		mid := (low + high) / 2
		if texts[mid*len(text):(mid+1)*len(text)] <= text {
			low = mid
		} else {
			high = mid
		}
	}
	switch {
	case texts[low*len(text):(low+1)*len(text)] != text:
		return numbers
	case gr.count == 1:
		return append(numbers, gr.number)
	default:
		return append(numbers, g.numbers[int(gr.number)+low])
	}
}
