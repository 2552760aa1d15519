package markup

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// table finds names by a number of their first eight letters, and their length. It uses open addressing and is at most
// a quarter full.
type table [1024]struct {
	letters uint64
	length  uint8
	index   uint8
}

// newTable returns a table of names, without empty ones. A name's value is its index, which must not be 0.
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

// slot returns the slot at which the search for a name begins.
func slot(key uint64) int { return int(key * 0x9e3779b97f4a7c15 >> 54) }

// find returns the index of a name, 0 if it is not in the table. It ignores letters after the eighth.
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

// findIn returns the index in list of a name in a page, whose key is from readName; the table must be that of list.
func (t *table) findIn(list []string, page []byte, name span, key uint64) int {
	i := t.find(key, name.to-name.from)
	if name.to-name.from > 8 && i != 0 && !hasPrefixFold(page[name.from+8:name.to], list[i][8:]) {
		return 0
	}
	return i
}

// letters maps the letters of names to lower case, and bytes that end a name to 0. NUL maps to a byte that occurs in no
// name.
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

// readName adds the letters of a name to a key, except those from the eighth on, and returns the name's end.
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

// index returns the first index of a byte from a position on, -1 if there is none. It checks a few bytes before it
// calls a function that is faster for long texts.
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
