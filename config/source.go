package config

import (
	"sort"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/actionrules"
)

// runeBlock is the number of bytes between two stored character counts, so that finding the column in a line of many
// megabytes needs no walk over the line.
const runeBlock = 256

// source is the text of one file in UTF-8, with an index from byte offsets to
// lines and columns.
type source struct {
	file   string
	data   []byte
	starts []int // offsets at which lines begin
	runes  []int // characters before each block of runeBlock bytes
}

// newSource indexes data. Lines end as in XML 1.0 section 2.11: CR LF, LF or CR.
func newSource(file string, data []byte) *source {
	s := &source{file: file, data: data, starts: []int{0}, runes: make([]int, 0, len(data)/runeBlock+1)}
	count := 0
	for i, b := range data {
		if i%runeBlock == 0 {
			s.runes = append(s.runes, count)
		}
		if b&0xC0 != 0x80 {
			count++
		}
		if b == '\n' || b == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			s.starts = append(s.starts, i+1)
		}
	}
	return s
}

// position returns the line and column of a byte offset; an offset outside of the file counts as its nearest end.
func (s *source) position(offset int) actionrules.Position {
	offset = min(max(offset, 0), len(s.data))
	line := sort.SearchInts(s.starts, offset+1) // the first line that begins after offset
	column := s.runesBefore(offset) - s.runesBefore(s.starts[line-1]) + 1
	return actionrules.Position{File: s.file, Line: line, Column: column}
}

// offset returns the inverse of position for a position inside the file.
func (s *source) offset(at actionrules.Position) int {
	if at.Line < 1 || at.Line > len(s.starts) {
		return 0
	}
	start := s.starts[at.Line-1]
	target := s.runesBefore(start) + at.Column - 1
	block := max(sort.SearchInts(s.runes, target+1)-1, 0)
	i := block * runeBlock
	for i < len(s.data) && !utf8.RuneStart(s.data[i]) {
		i++
	}
	for n := s.runesBefore(i); n < target && i < len(s.data); n++ {
		_, size := utf8.DecodeRune(s.data[i:])
		i += size
	}
	return i
}

// runesBefore counts the characters that begin before offset.
func (s *source) runesBefore(offset int) int {
	block := offset / runeBlock
	if block >= len(s.runes) {
		block = len(s.runes) - 1
	}
	if block < 0 {
		return 0
	}
	n := s.runes[block]
	if block+1 < len(s.runes) && s.runes[block+1]-n == runeBlock { // ASCII only
		return n + offset%runeBlock
	}
	for _, b := range s.data[block*runeBlock : offset] {
		if b&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// lastText returns the offset after the last character that is not white space.
func (s *source) lastText() int {
	i := len(s.data)
	for i > 0 && isSpace(s.data[i-1]) {
		i--
	}
	return i
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
