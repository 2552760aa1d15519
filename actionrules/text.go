package actionrules

import (
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// traits are the properties of a text that a norm may change.
type traits uint8

const (
	upperCase traits = 1 << iota // A to Z
	percent
	notASCII
)

func traitsOf(s string) traits {
	var t traits
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			t |= notASCII
		case c == '%':
			t |= percent
		case 'A' <= c && c <= 'Z':
			t |= upperCase
		}
	}
	return t
}

// buffers are reused by normalisation, which allocates nothing once they have grown.
type buffers struct {
	out     [len(fieldNames)][len(normNames)][]byte
	decoded []byte
}

// normalised is normalise(s, n) for the part f of a URL, whose
// traits are t. It is valid until the next URL.
func (b *buffers) normalised(s string, f Field, n Norm, t traits) string {
	out := b.out[f][n][:0]
	switch {
	case t == 0 || n == NormNone || n == NormLower && t == percent:
		return s
	case t == upperCase || n == NormLower && t&notASCII == 0:
		out = append(out, s...)
		lowerASCII(out)
	default:
		b.decoded = b.decoded[:0]
		if n == NormNorm {
			b.decoded = appendDecoded(b.decoded, s)
		} else {
			b.decoded = append(b.decoded, s...)
		}
		out = appendFolded(out, b.decoded, n == NormNorm)
	}
	b.out[f][n] = out
	// No copy: whoever gets the string drops it before the buffer changes.
	return unsafe.String(unsafe.SliceData(out), len(out))
}

func lowerASCII(s []byte) {
	for i, c := range s {
		if 'A' <= c && c <= 'Z' {
			s[i] = c + 'a' - 'A'
		}
	}
}

// appendFolded appends text with its case folded and, if requested, without accents.
func appendFolded(out, text []byte, strip bool) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if strip && r >= utf8.RuneSelf {
			out = appendStripped(out, r, text[:n])
		} else {
			out = utf8.AppendRune(out, foldRune(r))
		}
		text = text[n:]
	}
	return out
}

// appendStripped appends a character after stripMarks and foldCase. The order of its marks does not matter, because
// they are removed.
func appendStripped(out []byte, r rune, encoded []byte) []byte {
	const syllables, leads, vowels, tails = 0xac00, 0x1100, 0x1161, 0x11a7 // Unicode Standard, 3.12
	if i := r - syllables; i >= 0 && i < 19*21*28 {
		out = utf8.AppendRune(out, leads+i/(21*28))
		out = utf8.AppendRune(out, vowels+i%(21*28)/28)
		if i%28 > 0 {
			out = utf8.AppendRune(out, tails+i%28)
		}
		return out
	}
	parts := norm.NFKD.Properties(encoded).Decomposition()
	if parts == nil {
		parts = encoded
	}
	for len(parts) > 0 {
		r, n := utf8.DecodeRune(parts)
		parts = parts[n:]
		if r < utf8.RuneSelf || !unicode.IsMark(r) {
			out = utf8.AppendRune(out, foldRune(r))
		}
	}
	return out
}

// characters is utf8.RuneCountInString(decode(s)).
func (b *buffers) characters(s string) int {
	if strings.IndexByte(s, '%') < 0 {
		return utf8.RuneCountInString(s)
	}
	b.decoded = appendDecoded(b.decoded[:0], s)
	return utf8.RuneCount(b.decoded)
}
