package config

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// place is the position of an attribute in its file, in byte offsets; the value is without its quotes.
type place struct{ name, value, end int }

// attributePlaces appends the positions of the attributes of the well-formed start tag data[start:end] to out, in
// order.
func attributePlaces(out []place, data []byte, start, end int) []place {
	i := start + 1
	for i < end && !isSpace(data[i]) && data[i] != '/' && data[i] != '>' {
		i++
	}
	for {
		for i < end && isSpace(data[i]) {
			i++
		}
		if i >= end || data[i] == '/' || data[i] == '>' {
			return out
		}
		p := place{name: i}
		equals := bytes.IndexByte(data[i:end], '=')
		if equals < 0 {
			return out
		}
		i += equals + 1
		for i < end && isSpace(data[i]) {
			i++
		}
		if i >= end {
			return out
		}
		p.value = i + 1
		length := bytes.IndexByte(data[p.value:end], data[i])
		if length < 0 {
			return out
		}
		p.end = p.value + length
		out = append(out, p)
		i = p.end + 1
	}
}

// rawLength returns how many bytes of raw, an attribute's value as written, represent the first n bytes of the value as
// read: references such as &amp; are longer than their characters, and CR LF is one line feed.
func rawLength(raw []byte, n int) int {
	i := 0
	for n > 0 && i < len(raw) {
		switch {
		case raw[i] == '&':
			end := bytes.IndexByte(raw[i:], ';')
			if end < 0 {
				return i
			}
			n -= referenceLength(raw[i+1 : i+end])
			if n >= 0 {
				i += end + 1
			}
		case raw[i] == '\r' && i+1 < len(raw) && raw[i+1] == '\n':
			i += 2
			n--
		default:
			i++
			n--
		}
	}
	return i
}

// referenceLength returns the length in UTF-8 of &name;.
func referenceLength(name []byte) int {
	if len(name) < 2 || name[0] != '#' {
		return 1 // amp, lt, gt, quot, apos
	}
	digits, base := string(name[1:]), 10
	if digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	r, err := strconv.ParseUint(digits, base, 32)
	if err != nil || r > utf8.MaxRune {
		return 1
	}
	return max(utf8.RuneLen(rune(r)), 1)
}
