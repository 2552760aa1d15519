package near

import "math/bits"

// Key names what a fingerprint is of.
type Key = [16]byte

// Index holds fingerprints with their keys. Where two fingerprints differ in three
// bits, one of their halves differs in one at most. So there are two hash tables, of
// the lower and of the upper halves; one looks in each for the half itself and for all
// that differ from it in one bit. Most of these bits are not among those that choose
// the bucket, so that 1 + log2 n buckets are asked, with one or two entries each.
//
// Buckets are split one at a time as entries come (linear hashing, Litwin 1980), and
// memory is taken in pieces: there is no pause in which all of it is moved. An entry
// takes 32 bytes and its share of the buckets 6. It is for one goroutine at a time.
type Index struct {
	entries [][]entry // pieces of pieceLen; numbers begin at 1
	used    uint32    // of entries
	free    uint32    // the first of those that were removed, by lower
	n       int
	tables  [2]table
	at      []uint32 // of Near
}

type entry struct {
	hash uint64
	key  Key
	next [2]uint32 // in the chain of each table; 0 is the end
}

// pieceLen is the length of a piece of entries, headLen that of buckets.
const (
	pieceLen = 1 << 13
	headLen  = 1 << 16
	// load is how many entries come to a bucket, in quarters.
	load = 5
)

// A head is the number of a bucket's first entry, and marks in its upper bits: one of
// each entry, by the upper bits of its half. Where one of the lower bits of a half
// differs, the upper ones do not: so most buckets need not be looked into.
const (
	markBits   = 5
	numberBits = 32 - markBits
	maxEntries = 1<<numberBits - 1
)

func mark(half uint32) uint32 { return 1 << (numberBits + half>>numberBits%markBits) }

func number(head uint32) uint32 { return head & maxEntries }

// table has the buckets by the lowest bits of a half.
type table struct {
	heads [][]uint32
	bits  int    // of buckets that are not split yet
	split uint32 // the next bucket to split
}

// New makes an empty index.
func New() *Index {
	x := &Index{}
	for t := range x.tables {
		x.tables[t].heads = [][]uint32{make([]uint32, 1, headLen)}
	}
	return x
}

// Len is how many fingerprints are held.
func (x *Index) Len() int { return x.n }

// Bytes is the memory that is taken.
func (x *Index) Bytes() int64 {
	n := int64(len(x.entries)) * pieceLen * 32
	for t := range x.tables {
		n += int64(len(x.tables[t].heads)) * headLen * 4
	}
	return n
}

func (x *Index) entry(i uint32) *entry { return &x.entries[(i-1)/pieceLen][(i-1)%pieceLen] }

// half is what a table goes by.
func half(hash uint64, t int) uint32 { return uint32(hash >> (32 * t)) }

// bucket is that of a half.
func (t *table) bucket(half uint32) uint32 {
	b := uint32(uint64(half) & (2<<t.bits - 1))
	if uint64(b) >= 1<<t.bits+uint64(t.split) {
		b &= 1<<t.bits - 1
	}
	return b
}

func (t *table) head(b uint32) *uint32 { return &t.heads[b/headLen][b%headLen] }

func (t *table) len() int { return 1<<t.bits + int(t.split) }

// Add holds a fingerprint for a key, beside others that the key may have. An index of
// 134 million is full: then it does nothing.
func (x *Index) Add(hash uint64, key Key) {
	i := x.free
	if i != 0 {
		x.free = x.entry(i).next[0]
	} else {
		if x.used == maxEntries {
			return
		}
		if x.used%pieceLen == 0 {
			x.entries = append(x.entries, make([]entry, pieceLen))
		}
		x.used++
		i = x.used
	}
	e := x.entry(i)
	e.hash, e.key = hash, key
	for t := range x.tables {
		h := half(hash, t)
		head := x.tables[t].head(x.tables[t].bucket(h))
		e.next[t], *head = number(*head), i|*head&^maxEntries|mark(h)
	}
	x.n++
	for t := range x.tables {
		if 4*x.n > load*x.tables[t].len() {
			x.grow(t)
		}
	}
}

// grow splits one bucket of a table.
func (x *Index) grow(t int) {
	b := &x.tables[t]
	from, to := b.split, uint32(b.len())
	if to%headLen == 0 && to > 0 {
		b.heads = append(b.heads, make([]uint32, 0, headLen))
	}
	last := len(b.heads) - 1
	b.heads[last] = append(b.heads[last], 0)
	if b.split++; b.split == 1<<b.bits {
		b.bits, b.split = b.bits+1, 0
	}
	var chains [2]uint32
	for i := number(*b.head(from)); i != 0; {
		e := x.entry(i)
		h, next, chain := half(e.hash, t), e.next[t], &chains[0]
		if b.bucket(h) == to {
			chain = &chains[1]
		}
		e.next[t], *chain = number(*chain), i|*chain&^maxEntries|mark(h)
		i = next
	}
	*b.head(from), *b.head(to) = chains[0], chains[1]
}

// Remove forgets a fingerprint of a key; false if it is not held.
func (x *Index) Remove(hash uint64, key Key) bool {
	i := x.unlink(0, func(e *entry) bool { return e.hash == hash && e.key == key }, hash)
	if i == 0 {
		return false
	}
	other := x.entry(i)
	x.unlink(1, func(e *entry) bool { return e == other }, hash)
	*other = entry{next: [2]uint32{x.free}}
	x.free = i
	x.n--
	return true
}

// unlink takes the first entry for which is holds out of its chain in a table. Its mark
// stays.
func (x *Index) unlink(t int, is func(*entry) bool, hash uint64) uint32 {
	head := x.tables[t].head(x.tables[t].bucket(half(hash, t)))
	var before *entry
	for i := number(*head); i != 0; {
		e := x.entry(i)
		if is(e) {
			if before == nil {
				*head = *head&^maxEntries | e.next[t]
			} else {
				before.next[t] = e.next[t]
			}
			return i
		}
		before, i = e, e.next[t]
	}
	return 0
}

// Same calls fn for the keys of all equal fingerprints, until it returns false. The
// index must not be changed meanwhile.
func (x *Index) Same(hash uint64, fn func(Key) bool) {
	b := &x.tables[0]
	for i := number(*b.head(b.bucket(half(hash, 0)))); i != 0; {
		e := x.entry(i)
		if e.hash == hash && !fn(e.key) {
			return
		}
		i = e.next[0]
	}
}

// Near calls fn for all fingerprints within Distance, in no order, until it returns
// false. The index must not be changed meanwhile.
func (x *Index) Near(hash uint64, fn func(hash uint64, key Key) bool) {
	for t := range x.tables {
		x.heads(hash, t)
		// All chains are followed at the same pace: then the memory is asked for many
		// places at once, which takes little longer than for one.
		for at := x.at; len(at) > 0; {
			left := at[:0]
			for _, i := range at {
				e := x.entry(i)
				if next := e.next[t]; next != 0 {
					left = append(left, next)
				}
				d := e.hash ^ hash
				if bits.OnesCount64(d) > Distance || (bits.OnesCount32(uint32(d)) <= 1) != (t == 0) { // or the other table finds it
					continue
				}
				if !fn(e.hash, e.key) {
					return
				}
			}
			at = left
		}
	}
}

// heads begins the chains in which a half may stand that differs in one bit at most.
func (x *Index) heads(hash uint64, t int) {
	b, h := &x.tables[t], half(hash, t)
	own, marked := b.bucket(h), mark(h)
	x.at = x.at[:0]
	if i := number(*b.head(own)); i != 0 {
		x.at = append(x.at, i)
	}
	for bit := range min(b.bits+1, numberBits) {
		if other := b.bucket(h ^ 1<<bit); other != own {
			if head := *b.head(other); head&marked != 0 && number(head) != 0 {
				x.at = append(x.at, number(head))
			}
		}
	}
}
