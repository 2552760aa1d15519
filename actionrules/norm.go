package actionrules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalise brings one side of a comparison into the form of norm n. It is the
// same function for URLs and for literal patterns.
func normalise(s string, n Norm) string {
	switch n {
	case NormNone:
		return s
	case NormLower:
		return foldCase(s)
	case NormNorm:
	}
	return foldCase(stripMarks(decode(s)))
}

// foldCase maps each rune to one representative of its simple case folding, so
// that two strings have the same result exactly where the (?i) flag of RE2 sees
// no difference.
func foldCase(s string) string {
	if traitsOf(s)&(upperCase|notASCII) == 0 {
		return s
	}
	return strings.Map(foldRune, s)
}

// foldRune returns the smallest lower-case rune of r's folding orbit, or the smallest rune if none is lower case.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	best, lower := r, unicode.IsLower(r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if l := unicode.IsLower(f); l == lower && f < best || l && !lower {
			best, lower = f, l
		}
	}
	return best
}

// stripMarks removes accents: compatibility decomposition (NFKD, Unicode
// Standard Annex 15), then all marks (category M) are dropped.
func stripMarks(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf && unicode.IsMark(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
}

// decode percent-decodes s once. The delimiters reserved by RFC 3986 section 2.2 stay encoded, because decoding them
// would change the meaning of the URL. So do bytes that are not UTF-8.
func decode(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	return string(appendDecoded(make([]byte, 0, len(s)), s))
}

func appendDecoded(out []byte, s string) []byte {
	for i := strings.IndexByte(s, '%'); i >= 0; i = strings.IndexByte(s, '%') {
		out = append(out, s[:i]...)
		s = s[i:]
		n := encodedRune(s)
		if n == 0 {
			n = 1
			if _, ok := encodedByte(s); ok {
				n = 3
			}
			out = append(out, s[:n]...)
		} else {
			for j := 0; j < n; j += 3 {
				c, _ := encodedByte(s[j:])
				out = append(out, c)
			}
		}
		s = s[n:]
	}
	return append(out, s...)
}

// encodedRune returns the length in bytes of the encoded character at the start of s, or 0 if none may be decoded.
func encodedRune(s string) int {
	c, ok := encodedByte(s)
	switch {
	case !ok || strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0:
		return 0
	case c < utf8.RuneSelf:
		return 3
	}
	var buf [utf8.UTFMax]byte
	for i := range buf {
		if buf[i], ok = encodedByte(s[min(3*i, len(s)):]); !ok {
			return 0
		}
		if utf8.FullRune(buf[:i+1]) {
			if r, n := utf8.DecodeRune(buf[:i+1]); r == utf8.RuneError && n == 1 {
				return 0
			}
			return 3 * (i + 1)
		}
	}
	return 0
}

func encodedByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	hi, ok1 := hexDigit(s[1])
	lo, ok2 := hexDigit(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	default:
		return 0, false
	}
}

func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
