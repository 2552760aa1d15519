package match

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// affixes are prefixes or suffixes in their order. All of them that a text begins
// with stand on one chain: each begins with the next, and the chain starts at the
// greatest that is not greater than the text.
type affixes struct {
	back  bool // suffixes: compared from their ends
	texts []string
	// next is the place of the longest other one that this one begins with, -1 if
	// there is none.
	next    []int32
	numbers []uint32
}

func (a *affixes) build(literals []numbered) {
	slices.SortFunc(literals, func(l, m numbered) int { return a.compare(l.text, m.text) })
	a.texts = make([]string, len(literals))
	a.next = make([]int32, len(literals))
	a.numbers = make([]uint32, len(literals))
	for i, l := range literals {
		a.texts[i], a.numbers[i] = l.text, l.number
		a.next[i] = a.begins(int32(i)-1, l.text)
	}
}

// begins is the place of the longest one that text begins with, on the chain from
// place i on; -1 if there is none.
func (a *affixes) begins(i int32, text string) int32 {
	for i >= 0 && !a.standsIn(a.texts[i], text) {
		i = a.next[i]
	}
	return i
}

func (a *affixes) standsIn(affix, text string) bool {
	if a.back {
		return strings.HasSuffix(text, affix)
	}
	return strings.HasPrefix(text, affix)
}

func (a *affixes) appendTo(numbers []uint32, text string) []uint32 {
	low, high := 0, len(a.texts)
	for low < high {
		mid := int(uint(low+high) / 2)
		if a.compare(a.texts[mid], text) <= 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	for i := a.begins(int32(low)-1, text); i >= 0; i = a.next[i] {
		numbers = append(numbers, a.numbers[i])
	}
	return numbers
}

func (a *affixes) compare(s, t string) int {
	if a.back {
		return compareBack(s, t)
	}
	return strings.Compare(s, t)
}

// compareBack compares from the last byte to the first, eight at a time.
func compareBack(s, t string) int {
	for len(s) >= 8 && len(t) >= 8 {
		v, w := lastEight(s), lastEight(t)
		if v != w {
			return cmp.Compare(v, w)
		}
		s, t = s[:len(s)-8], t[:len(t)-8]
	}
	for len(s) > 0 && len(t) > 0 {
		if c, d := s[len(s)-1], t[len(t)-1]; c != d {
			return cmp.Compare(c, d)
		}
		s, t = s[:len(s)-1], t[:len(t)-1]
	}
	return cmp.Compare(len(s), len(t))
}

// lastEight is the last eight bytes of s, the last of them the most significant.
func lastEight(s string) uint64 {
	var b [8]byte
	copy(b[:], s[len(s)-8:])
	return binary.LittleEndian.Uint64(b[:])
}
