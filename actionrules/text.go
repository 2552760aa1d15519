package actionrules

import (
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// traits say what a text contains that a norm may change.
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

// buffers hold what normalising makes, so that it allocates nothing once they
// have grown.
type buffers struct {
	out     [len(fieldNames)][len(normNames)][]byte
	decoded []byte
	parted  []byte // characters and their accents apart
}

// normalised is normalise(s, n) for the part f of a URL, of which t are the
// traits. It is valid until the next URL.
func (b *buffers) normalised(s string, f Field, n Norm, t traits) string {
	out := b.out[f][n][:0]
	switch {
	case t == 0 || n == NormNone || n == NormLower && t == percent:
		return s
	case t == upperCase || n == NormLower && t&notASCII == 0:
		out = append(out, s...)
		lowerASCII(out)
	default:
		text := append(b.decoded[:0], s...)
		if n == NormNorm {
			text = appendDecoded(b.decoded[:0], s)
		}
		b.decoded = text
		if n == NormNorm && !isASCII(text) {
			b.parted = norm.NFKD.Append(b.parted[:0], text...)
			text = b.parted
		}
		out = appendFolded(out, text, n == NormNorm)
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

// appendFolded appends text with its case folded, and where it says so without
// marks.
func appendFolded(out, text []byte, dropMarks bool) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		if !dropMarks || r < utf8.RuneSelf || !unicode.IsMark(r) {
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
