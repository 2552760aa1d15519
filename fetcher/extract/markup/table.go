package markup

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// table finds short names by their first eight letters, which are one number, and
// their length. It has open addressing and is a quarter full at most.
type table [1024]struct {
	letters uint64
	length  uint8
	index   uint8
}

// newTable makes a table of names, of which the empty ones are left out. A name is
// found as its index, which must not be 0.
func newTable(names []string) *table {
	t := new(table)
	for i, name := range names {
		if name == "" {
			continue
		}
		key := letters([]byte(name), 0, len(name))
		at := slot(key, len(name))
		for t[at].index != 0 {
			at = (at + 1) % len(t)
		}
		t[at].letters, t[at].length, t[at].index = key, uint8(len(name)), uint8(i)
	}
	return t
}

// slot is where a name stands, or one of those behind it.
func slot(key uint64, length int) int {
	return int((key + uint64(length)) * 0x9e3779b97f4a7c15 >> 54)
}

// find gives the index of a name, 0 if it is none. Of names that are longer than
// eight letters the others are not compared.
func (t *table) find(key uint64, length int) int {
	at := slot(key, length)
	for t[at].index != 0 {
		if t[at].letters == key && int(t[at].length) == length {
			return int(t[at].index)
		}
		at = (at + 1) % len(t)
	}
	return 0
}

// findFold finds a name of a list in lower case, of which t is the table, in any
// case.
func (t *table) findFold(list []string, page []byte, from, to int) int {
	i := t.find(lower(letters(page, from, to)), to-from)
	if to-from > 8 && i != 0 && !hasPrefixFold(page[from+8:to], list[i][8:]) {
		return 0
	}
	return i
}

// letters are up to eight bytes of a page, the first lowest.
func letters(page []byte, from, to int) uint64 {
	if from+8 <= len(page) {
		return binary.LittleEndian.Uint64(page[from:]) & (1<<(8*uint(to-from)) - 1)
	}
	var x uint64
	for i := min(to, from+8) - 1; i >= from; i-- {
		x = x<<8 | uint64(page[i])
	}
	return x
}

// index is where a byte stands first from a position on, -1 if it does not. It looks
// at a few bytes before it calls what is faster for many.
func index(page []byte, at int, c byte) int {
	const each = 0x0101010101010101
	for near := at + 24; at < near && at+8 <= len(page); at += 8 {
		x := binary.LittleEndian.Uint64(page[at:]) ^ each*uint64(c)
		if found := (x - each) &^ x & (each * 0x80); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	i := bytes.IndexByte(page[at:], c)
	if i < 0 {
		return -1
	}
	return at + i
}

// lower makes lower-case letters of those of A to Z.
func lower(x uint64) uint64 {
	const (
		each = 0x0101010101010101
		high = 0x80 * each
	)
	// The high bit of each byte that is ASCII, at least A, and not above Z.
	low := x &^ high
	upper := (low + (0x80-'A')*each) &^ (low + (0x7f-'Z')*each) &^ x & high
	return x | upper>>2
}
