package office

import "strings"

// strings reads the shared strings of a workbook (MS-XLS section 2.4.265). They continue over record ends; a record
// that begins within a string's characters starts with a byte that repeats their size.
func (x *xlsReader) strings(records [][]byte) {
	s := &stringTable{records: records}
	count := int64(le32(records[0], 4))
	s.skip(8)
	for i := int64(0); i < count && !s.ended() && len(x.shared) < maxSharedStrings; i++ {
		x.shared = append(x.shared, s.one())
	}
}

// stringTable is a position in records.
type stringTable struct {
	records [][]byte
	at      int // in the first of them
}

// ended moves to the next record at the end of the current one, and reports whether there is none.
func (s *stringTable) ended() bool {
	for len(s.records) > 0 && s.at >= len(s.records[0]) {
		s.records, s.at = s.records[1:], 0
	}
	return len(s.records) == 0
}

func (s *stringTable) byte() byte {
	if s.ended() {
		return 0
	}
	s.at++
	return s.records[0][s.at-1]
}

func (s *stringTable) uint16() int { return int(s.byte()) | int(s.byte())<<8 }

func (s *stringTable) uint32() int64 {
	return int64(s.uint16()) | int64(s.uint16())<<16
}

// skip skips n bytes.
func (s *stringTable) skip(n int64) {
	for n > 0 && !s.ended() {
		step := min(n, int64(len(s.records[0])-s.at))
		s.at += int(step)
		n -= step
	}
}

// one reads a string; it skips format runs and phonetic data.
func (s *stringTable) one() string {
	const (
		wide     = 1
		phonetic = 4
		rich     = 8
	)
	left := s.uint16()
	flags := s.byte()
	var runs, sounds int64
	if flags&rich != 0 {
		runs = int64(s.uint16())
	}
	if flags&phonetic != 0 {
		sounds = s.uint32()
	}
	var b strings.Builder
	var half []byte // of a string across records, decoded as one
	for left > 0 && len(s.records) > 0 {
		if s.at >= len(s.records[0]) {
			if s.ended() {
				break
			}
			flags = s.byte()
		}
		size := 1
		if flags&wide != 0 {
			size = 2
		}
		rest := s.records[0][s.at:]
		n := min(left, len(rest)/size)
		if n == 0 { // half a character at the end of a record
			s.at = len(s.records[0])
			continue
		}
		if size == 2 {
			half = append(half, rest[:2*n]...)
		} else {
			b.WriteString(utf16Text(half))
			half = half[:0]
			b.WriteString(latin(rest[:n]))
		}
		s.at += n * size
		left -= n
	}
	b.WriteString(utf16Text(half))
	s.skip(4*runs + sounds)
	return b.String()
}
