package markup

import (
	"bytes"
	_ "embed" // the names of references
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// entityNames contains the names of all character references (WHATWG HTML section 13.5), those that need no semicolon
// also without it.
//
//go:embed entities.txt
var entityNames string

// entity is the one or two characters that a name stands for.
type entity struct{ first, second rune }

// entities is constant: all references, built when a page first has an uncommon one, from the table of x/net/html.
var entities = sync.OnceValue(func() map[string]entity {
	m := make(map[string]entity, 2300)
	for name := range strings.FieldsSeq(entityNames) {
		var e entity
		text := html.UnescapeString("&" + name)
		first, n := utf8.DecodeRuneInString(text)
		if e.first = first; n < len(text) {
			e.second, _ = utf8.DecodeRuneInString(text[n:])
		}
		m[name] = e
	}
	return m
})

// longestBare is the length of the longest name that needs no semicolon.
const longestBare = 6

// commonNames are the most frequent names, each of up to eight letters.
const commonNames = `amp lt gt quot apos nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg
	plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc
	Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc
	Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig
	ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash
	ugrave uacute ucirc uuml yacute thorn yuml OElig oelig Scaron scaron ensp emsp thinsp zwnj zwj ndash mdash lsquo
	rsquo sbquo ldquo rdquo bdquo dagger Dagger bull hellip lsaquo rsaquo euro trade larr uarr rarr darr`

// commonRunes and commonTable are constant: the characters of commonNames, by index.
var commonRunes, commonTable = func() ([]rune, *table) {
	names, runes := []string{""}, []rune{0}
	for name := range strings.FieldsSeq(commonNames) {
		r, _ := utf8.DecodeRuneInString(html.UnescapeString("&" + name + ";"))
		names, runes = append(names, name), append(runes, r)
	}
	return runes, newTable(names)
}()

// Reference parses the character reference at the beginning of b, b[0] being the &, and returns its one or two
// characters and its length; length 1 and '&' if it is not a reference. In attribute values fewer are valid (WHATWG
// HTML section 13.2.5.73).
func Reference(b []byte, attribute bool) (first, second rune, length int) {
	if len(b) > 1 && b[1] == '#' {
		return numeric(b)
	}
	n, key := 1, uint64(0)
	for n < len(b) && class[b[n]]&isAlphanumeric != 0 {
		key |= uint64(b[n]) << (8 * uint(n-1)) // no effect from the ninth on
		n++
	}
	if n < len(b) && b[n] == ';' && n <= 9 {
		if i := commonTable.find(key, n-1); i != 0 {
			return commonRunes[i], 0, n + 1
		}
	}
	return named(b, n, attribute)
}

// named parses a reference by name, which ends at n.
func named(b []byte, n int, attribute bool) (first, second rune, length int) {
	if n < 3 {
		return '&', 0, 1
	}
	all := entities()
	if n < len(b) && b[n] == ';' {
		if e, ok := all[string(b[1:n+1])]; ok {
			return e.first, e.second, n + 1
		}
	}
	if attribute {
		// Only complete names, and none before =, which is more likely a query.
		if n < len(b) && b[n] == '=' || n > 1+longestBare {
			return '&', 0, 1
		}
		if e, ok := all[string(b[1:n])]; ok {
			return e.first, e.second, n
		}
		return '&', 0, 1
	}
	for i := min(n, 1+longestBare); i > 2; i-- {
		if e, ok := all[string(b[1:i])]; ok {
			return e.first, e.second, i
		}
	}
	return '&', 0, 1
}

// numeric parses &#1; and &#x1;.
func numeric(b []byte) (first, second rune, length int) {
	n, base := 2, rune(10)
	if n < len(b) && b[n]|0x20 == 'x' {
		n, base = 3, 16
	}
	begin, value := n, rune(0)
	for ; n < len(b); n++ {
		d := digit(b[n])
		if d >= base {
			break
		}
		if value <= utf8.MaxRune {
			value = value*base + d
		}
	}
	if n == begin {
		return '&', 0, 1
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	switch {
	case 0x80 <= value && value <= 0x9f:
		value = windows1252[value-0x80]
	case value == 0 || !utf8.ValidRune(value):
		value = utf8.RuneError
	}
	return value, 0, n
}

// windows1252 is constant: the characters of &#x80; to &#x9f; (WHATWG HTML section 13.2.5.80).
var windows1252 = [32]rune{
	'\u20ac', 0x81, '\u201a', '\u0192', '\u201e', '\u2026', '\u2020', '\u2021', '\u02c6', '\u2030', '\u0160', '\u2039', '\u0152', 0x8d, '\u017d', 0x8f,
	0x90, '\u2018', '\u2019', '\u201c', '\u201d', '\u2022', '\u2013', '\u2014', '\u02dc', '\u2122', '\u0161', '\u203a', '\u0153', 0x9d, '\u017e', '\u0178',
}

// digit returns the value of a hexadecimal digit, or a larger number.
func digit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 16
}

// AppendUnescaped appends the value of an attribute to b: references replaced,
// newlines as \n.
func AppendUnescaped(b, value []byte) []byte {
	for {
		i := bytes.IndexAny(value, "&\r\x00")
		if i < 0 {
			return append(b, value...)
		}
		b = append(b, value[:i]...)
		value = value[i:]
		n := 1
		switch value[0] {
		case '&':
			var first, second rune
			first, second, n = Reference(value, true)
			b = utf8.AppendRune(b, first)
			if second != 0 {
				b = utf8.AppendRune(b, second)
			}
		case '\r':
			b = append(b, '\n')
			if len(value) > 1 && value[1] == '\n' {
				n = 2
			}
		case 0:
			b = utf8.AppendRune(b, utf8.RuneError)
		}
		value = value[n:]
	}
}
