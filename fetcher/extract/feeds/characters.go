package feeds

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// characters reads text up to the next tag.
func (s *scanner) characters() string {
	s.buf = s.buf[:0]
	for first := true; ; first = false {
		b := s.buffered()
		if len(b) == 0 {
			return s.kept()
		}
		n := bytes.IndexAny(b, "<&\x00")
		if n < 0 {
			n = len(b)
		}
		if n > 0 {
			s.buf = append(s.buf, b[:min(n, max(s.most-len(s.buf), 0))]...)
			s.pass(b[:n])
			continue
		}
		if b[0] == '<' && !first {
			if next, _ := s.r.Peek(2); len(next) < 2 || isNameStart(next[1]) || next[1] == '/' || next[1] == '!' || next[1] == '?' {
				return s.kept()
			}
		}
		s.read()
		switch {
		case b[0] == 0 || len(s.buf) >= s.most:
		case b[0] == '&':
			s.buf = s.reference(s.buf)
		default:
			s.buf = append(s.buf, b[0])
		}
	}
}

// longestReference is the length of a numeric reference with some leading zeros.
const longestReference = 12

// reference reads the text after an ampersand, and appends its character; an invalid reference stays as written.
func (s *scanner) reference(to []byte) []byte {
	ahead, _ := s.r.Peek(longestReference)
	end := bytes.IndexByte(ahead, ';')
	if end < 0 {
		return append(to, '&')
	}
	r, ok := referred(string(ahead[:end]))
	if !ok {
		return append(to, '&')
	}
	for range end + 1 {
		s.read()
	}
	return utf8.AppendRune(to, r)
}

func referred(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, isHex := strings.CutPrefix(strings.ToLower(digits), "x"); isHex {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if !ok || err != nil || n > utf8.MaxRune {
		return 0, false
	}
	if n < ' ' && n != '\t' && n != '\n' && n != '\r' {
		return ' ', true
	}
	return rune(n), true
}
