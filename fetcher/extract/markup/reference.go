package markup

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

const (
	// longestReference is the length of the longest name, with its semicolon.
	longestReference = 32
	// longestBare is the length of the longest name that needs no semicolon.
	longestBare = 6
)

// common is constant: what is written in most pages, for a look-up without
// allocation. All other names are left to x/net/html.
var common = func() map[string]rune {
	names := `amp lt gt quot apos nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg
		plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc
		Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc
		Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig
		ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash
		ugrave uacute ucirc uuml yacute thorn yuml OElig oelig Scaron scaron ensp emsp thinsp zwnj zwj ndash mdash lsquo
		rsquo sbquo ldquo rdquo bdquo dagger Dagger bull hellip lsaquo rsaquo euro trade larr uarr rarr darr`
	m := make(map[string]rune)
	for name := range strings.FieldsSeq(names) {
		r, _ := utf8.DecodeRuneInString(html.UnescapeString("&" + name + ";"))
		m[name+";"] = r
	}
	return m
}()

// Reference reads the character reference that b begins with, b[0] being the &, and
// gives its one or two characters and its length; length 1 and '&' if it is none.
// In the values of attributes fewer are (WHATWG HTML section 13.2.5.73).
func Reference(b []byte, attribute bool) (first, second rune, length int) {
	if len(b) > 1 && b[1] == '#' {
		return numeric(b)
	}
	n := 1
	for n < len(b) && (isLetter(b[n]) || '0' <= b[n] && b[n] <= '9') {
		n++
	}
	ended := n < len(b) && b[n] == ';'
	if ended {
		n++
	}
	switch {
	case n == 1 || n == 2 && ended:
		return '&', 0, 1
	case attribute && !ended && n < len(b) && b[n] == '=':
		return '&', 0, 1
	}
	if r, ok := common[string(b[1:n])]; ok {
		return r, 0, n
	}
	return named(b[:n], attribute)
}

// numeric reads &#1; and &#x1;.
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
		// As windows-1252, which x/net/html has the table of.
		value, _ = utf8.DecodeRuneInString(html.UnescapeString(string(b[:n])))
	case value == 0 || !utf8.ValidRune(value):
		value = utf8.RuneError
	}
	return value, 0, n
}

// digit is the value of a hexadecimal digit, or more.
func digit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 16
}

// named asks x/net/html about a name, b being the & and the name. A name that
// begins with one that needs no semicolon counts as that one, in text.
func named(b []byte, attribute bool) (first, second rune, length int) {
	bare := min(len(b)-2, longestBare)
	if len(b) <= longestReference+1 {
		text := string(b)
		got := html.UnescapeString(text)
		if got == text {
			return '&', 0, 1
		}
		if !isPrefix(b, got, bare) {
			r, n := utf8.DecodeRuneInString(got)
			if n < len(got) {
				second, _ = utf8.DecodeRuneInString(got[n:])
			}
			return r, second, len(b)
		}
	}
	if attribute {
		return '&', 0, 1
	}
	for n := bare; n > 1; n-- {
		if r, ok := bareName(b[1 : 1+n]); ok {
			return r, 0, 1 + n
		}
	}
	return '&', 0, 1
}

// isPrefix says whether got is what a beginning of the name stands for and the rest
// of it as it is.
func isPrefix(b []byte, got string, bare int) bool {
	for n := bare; n > 1; n-- {
		if r, ok := bareName(b[1 : 1+n]); ok {
			rest, found := strings.CutPrefix(got, string(r))
			return found && rest == string(b[1+n:])
		}
	}
	return false
}

// bareName is what a whole name without semicolon stands for.
func bareName(name []byte) (rune, bool) {
	got := html.UnescapeString("&" + string(name))
	r, n := utf8.DecodeRuneInString(got)
	return r, n == len(got)
}

// Unescape gives the value of an attribute: references replaced, newlines as \n. It
// is the value itself where there is nothing to replace, else it is appended to
// scratch.
func Unescape(value, scratch []byte) []byte {
	i := bytes.IndexAny(value, "&\r\x00")
	if i < 0 {
		return value
	}
	out := scratch
	out = append(out, value[:i]...)
	for i < len(value) {
		switch c := value[i]; c {
		case '&':
			first, second, n := Reference(value[i:], true)
			out = utf8.AppendRune(out, first)
			if second != 0 {
				out = utf8.AppendRune(out, second)
			}
			i += n
		case '\r':
			out = append(out, '\n')
			if i++; i < len(value) && value[i] == '\n' {
				i++
			}
		case 0:
			out = utf8.AppendRune(out, utf8.RuneError)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out[len(scratch):]
}
