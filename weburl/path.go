package weburl

import (
	"bytes"
	"unicode/utf8"
)

// appendPath writes the path at s[i] behind the segments that out has from start on, and carries out dot segments (URL
// standard, "path state"). The end is -1 for a path that is not ordinary.
func appendPath(out []byte, start int, s string, i int) (_ []byte, end int) {
	if i < len(s) && s[i] == '/' {
		i++
	}
	for {
		segment, mark := i, len(out)
		out = append(out, '/')
		if out, i = appendEscaped(out, start, s, i, pathByte); i < 0 {
			return nil, -1
		}
		last := i == len(s) || s[i] != '/'
		if dots := dotSegment(s[segment:i]); dots > 0 {
			if dots == 2 {
				mark = start + max(bytes.LastIndexByte(out[start:mark], '/'), 0)
			}
			out = out[:mark]
			if last {
				out = append(out, '/')
			}
		}
		if last {
			return out, i
		}
		i++
	}
}

// dotSegment returns 1 for ".", 2 for "..", also percent-encoded, and else 0.
func dotSegment(s string) int {
	if s == "" || s[0] != '.' && s[0] != '%' {
		return 0
	}
	dots := 0
	for ; s != "" && dots < 3; dots++ {
		switch {
		case s[0] == '.':
			s = s[1:]
		case len(s) >= 3 && s[0] == '%' && s[1] == '2' && s[2]|0x20 == 'e':
			s = s[3:]
		default:
			return 0
		}
	}
	if dots > 2 {
		return 0
	}
	return dots
}

// appendEscaped writes the component of s that begins at i and goes as far as its
// bytes belong to it: those of class keep, the others percent-encoded, and those
// that are percent-encoded normalised as by normalisePercent. In out, the
// component begins at start. The end is -1 for a component that is not ordinary.
func appendEscaped(out []byte, start int, s string, i int, keep uint8) (_ []byte, end int) {
	for {
		run := i
		for i < len(s) && is(s[i], keep) {
			i++
		}
		out = append(out, s[run:i]...)
		if i == len(s) {
			return out, i
		}
		c := s[i]
		switch {
		case is(c, endByte):
			return out, i
		case is(c, oddByte):
			return nil, -1
		case c == '%':
			var n int
			out, n = appendPercent(out, start, s[i:])
			i += n
		case c < utf8.RuneSelf:
			out = appendEncoded(out, c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return nil, -1
			}
			for range size {
				out = appendEncoded(out, s[i])
				i++
			}
		}
	}
}

func appendEncoded(out []byte, c byte) []byte {
	return append(out, '%', upperHex[c>>4], upperHex[c&15])
}

// appendPercent writes the '%' at the beginning of s, with its digits if it has them.
func appendPercent(out []byte, start int, s string) (_ []byte, n int) {
	if len(s) < 3 || !isHex(s[1]) || !isHex(s[2]) {
		return append(out, '%'), 1
	}
	c := unhex(s[1])<<4 | unhex(s[2])
	// Encoded bytes are written whole, so a '%' this close is a stray one. The byte before a component is never '%', but
	// the one before that may be.
	n = len(out)
	stray := out[n-1] == '%' || n > start+1 && out[n-2] == '%'
	if isUnreserved(c) && !stray {
		return append(out, c), 3
	}
	return appendEncoded(out, c), 3
}
