package markup

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// table finds names by their first eight letters, which are one number, and their
// length. It has open addressing and is a quarter full at most.
type table [1024]struct {
	letters uint64
	length  uint8
	index   uint8
}

// newTable returns a table of names; empty names are left out. A name is
// found as its index, which must not be 0.
func newTable(names []string) *table {
	t := new(table)
	for i, name := range names {
		if name == "" {
			continue
		}
		var key uint64
		for j, c := range []byte(name) {
			key |= uint64(c) << (8 * uint(j))
		}
		at := slot(key)
		for t[at].index != 0 {
			at = (at + 1) % len(t)
		}
		t[at].letters, t[at].length, t[at].index = key, uint8(len(name)), uint8(i)
	}
	return t
}

// slot returns where a name stands, or before it.
func slot(key uint64) int { return int(key * 0x9e3779b97f4a7c15 >> 54) }

// find returns the index of a name, 0 if it is not in the table. Letters behind the eighth are not
// compared.
func (t *table) find(key uint64, length int) int {
	at := slot(key)
	for t[at].index != 0 {
		if t[at].letters == key && int(t[at].length) == length {
			return int(t[at].index)
		}
		at = (at + 1) % len(t)
	}
	return 0
}

// findIn finds the name that stands in a part of a page, whose letters readName
// read, in the list that t is the table of.
func (t *table) findIn(list []string, page []byte, name span, key uint64) int {
	i := t.find(key, name.to-name.from)
	if name.to-name.from > 8 && i != 0 && !hasPrefixFold(page[name.from+8:name.to], list[i][8:]) {
		return 0
	}
	return i
}

// letters gives the letters of names in lower case, and 0 for what ends one. NUL is
// another byte that is in no name either.
type letters [256]uint8

func newLetters(ends string) (t letters) {
	for c := range t {
		t[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			t[c] |= 0x20
		}
	}
	t[0] = 0xff
	for _, c := range []byte(ends) {
		t[c] = 0
	}
	return t
}

// readName adds the letters of a name to a key, those from the eighth on left out,
// and gives where it ends.
func readName(page []byte, from, at int, key uint64, t *letters) (uint64, int) {
	for ; at < len(page); at++ {
		c := t[page[at]]
		if c == 0 {
			break
		}
		key |= uint64(c) << (8 * uint(at-from))
	}
	return key, at
}

// index returns where a byte stands first from a position on, -1 if it does not. It looks
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
