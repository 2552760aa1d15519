package near

import "slices"

// Key identifies a page.
type Key = [16]byte

// Place contains the hashes under which a Table stores a page.
type Place struct {
	Body, Title uint32
}

// MaxTitled is the maximum number of pages with different texts that share a title. If there are more, that title does
// not identify near-duplicates.
const MaxTitled = 8

// Table finds pages by their text and by their title, both hashed. It has two hash tables with chains. Buckets are
// split one at a time as entries are added (linear hashing, Litwin 1980), and memory is allocated in pieces, so there
// is no pause for moving all entries. An entry takes 32 bytes, plus about 6 for its share of the buckets. A Table is
// for one goroutine at a time.
type Table struct {
	entries [][]entry // pieces of pieceLen; numbers begin at 1
	used    uint32    // of entries
	free    uint32    // first of the removed entries, linked by next[byText]
	n       int
	chains  [2]buckets
}

// entry is one page. It is in the chain of its text and, if not too many pages share its title, in that of its title.
type entry struct {
	hash [2]uint32
	key  Key
	next [2]uint32 // 0 is the end
}

// The chains of an entry. An entry outside its title's chain has unlinked as next.
const (
	byText = iota
	byTitle
	unlinked = ^uint32(0)
)

// pieceLen is the length of a piece of entries, headLen of a piece of buckets.
const (
	pieceLen = 1 << 13
	headLen  = 1 << 16
	// load is the average number of entries in a bucket, in quarters.
	load = 5
)

// buckets have the numbers of the first entries, by the lowest bits of a hash.
type buckets struct {
	heads [][]uint32
	n     int    // entries
	bits  int    // of buckets that are not split yet
	split uint32 // the next bucket to split
}

// New returns an empty table.
func New() *Table {
	x := &Table{}
	for t := range x.chains {
		x.chains[t].heads = [][]uint32{make([]uint32, 1, headLen)}
	}
	return x
}

// Len returns the number of pages.
func (x *Table) Len() int { return x.n }

// Bytes returns the memory in use, in bytes.
func (x *Table) Bytes() int64 {
	n := int64(len(x.entries)) * pieceLen * 32
	for t := range x.chains {
		n += int64(len(x.chains[t].heads)) * headLen * 4
	}
	return n
}

func (x *Table) entry(i uint32) *entry { return &x.entries[(i-1)/pieceLen][(i-1)%pieceLen] }

func (b *buckets) head(hash uint32) *uint32 {
	i := uint32(uint64(hash) & (2<<b.bits - 1))
	if uint64(i) >= 1<<b.bits+uint64(b.split) {
		i &= 1<<b.bits - 1
	}
	return &b.heads[i/headLen][i%headLen]
}

func (b *buckets) len() int { return 1<<b.bits + int(b.split) }

// Add adds a page. If its title has too many texts, or its Title is 0, it can be found only by its text. The caller
// limits the number of pages with one text. A full table (four thousand million entries) ignores further pages.
func (x *Table) Add(at Place, key Key) {
	if x.used == unlinked-1 && x.free == 0 {
		return
	}
	i := x.free
	if i != 0 {
		x.free = x.entry(i).next[byText]
	} else {
		if x.used%pieceLen == 0 {
			x.entries = append(x.entries, make([]entry, pieceLen))
		}
		x.used++
		i = x.used
	}
	*x.entry(i) = entry{hash: [2]uint32{at.Body, at.Title}, key: key, next: [2]uint32{byTitle: unlinked}}
	x.link(i, byText)
	if at.Title != 0 && x.Titled(at.Title) <= MaxTitled {
		x.link(i, byTitle)
	}
	x.n++
}

// link puts an entry at the head of its chain.
func (x *Table) link(i uint32, t int) {
	e, b := x.entry(i), &x.chains[t]
	head := b.head(e.hash[t])
	e.next[t], *head = *head, i
	if b.n++; 4*b.n > load*b.len() {
		x.grow(t)
	}
}

// grow splits one bucket.
func (x *Table) grow(t int) {
	b := &x.chains[t]
	if b.len()%headLen == 0 {
		b.heads = append(b.heads, make([]uint32, 0, headLen))
	}
	last := len(b.heads) - 1
	b.heads[last] = append(b.heads[last], 0)
	from := &b.heads[b.split/headLen][b.split%headLen]
	if b.split++; b.split == 1<<b.bits {
		b.bits, b.split = b.bits+1, 0
	}
	i := *from
	for *from = 0; i != 0; {
		e := x.entry(i)
		head := b.head(e.hash[t])
		i, e.next[t], *head = e.next[t], *head, i
	}
}

// Remove removes a page, and reports whether it was in the table.
func (x *Table) Remove(text uint32, key Key) bool {
	i := x.unlink(byText, text, func(e *entry) bool { return e.hash[byText] == text && e.key == key })
	if i == 0 {
		return false
	}
	e := x.entry(i)
	if e.next[byTitle] != unlinked {
		x.unlink(byTitle, e.hash[byTitle], func(o *entry) bool { return o == e })
	}
	*e = entry{next: [2]uint32{byText: x.free}}
	x.free = i
	x.n--
	return true
}

// unlink takes the first entry for which is holds out of a chain.
func (x *Table) unlink(t int, hash uint32, is func(*entry) bool) uint32 {
	b := &x.chains[t]
	for at := b.head(hash); *at != 0; at = &x.entry(*at).next[t] {
		if i := *at; is(x.entry(i)) {
			*at = x.entry(i).next[t]
			b.n--
			return i
		}
	}
	return 0
}

// Text calls fn for the keys of all pages with a text, until it returns false. The table
// must not be changed meanwhile.
func (x *Table) Text(hash uint32, fn func(Key) bool) {
	x.each(byText, hash, func(e *entry) bool { return fn(e.key) })
}

// Title calls fn for all pages with a title, or those with one text more than MaxTitled,
// until it returns false. The table must not be changed meanwhile.
func (x *Table) Title(hash uint32, fn func(text uint32, key Key) bool) {
	x.each(byTitle, hash, func(e *entry) bool { return fn(e.hash[byText], e.key) })
}

// Titled returns the number of texts with a title, at most MaxTitled + 1.
func (x *Table) Titled(hash uint32) (n int) {
	var texts [MaxTitled + 1]uint32
	x.Title(hash, func(text uint32, _ Key) bool {
		if n < len(texts) && !slices.Contains(texts[:n], text) {
			texts[n] = text
			n++
		}
		return true
	})
	return n
}

func (x *Table) each(t int, hash uint32, fn func(*entry) bool) {
	for i := *x.chains[t].head(hash); i != 0; {
		e := x.entry(i)
		if e.hash[t] == hash && !fn(e) {
			return
		}
		i = e.next[t]
	}
}
