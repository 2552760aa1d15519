package extract

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// textWriter collects text with white space collapsed to single spaces, and none at the ends. Control characters count
// as white space, NUL is dropped, and invalid UTF-8 becomes U+FFFD.
type textWriter struct {
	b     []byte
	begin int  // start of the text in b
	limit int  // limit in bytes, after which the text is cut; 0 for none
	gap   bool // a new word follows
	cut   bool // the limit was exceeded, and writes are ignored
	last  [8]byte
	// onePage is set if all text is from one page. If much of it is non-ASCII, the whole page is once checked for valid
	// UTF-8, which is written faster.
	onePage, valid bool
	beyond         int // non-ASCII bytes so far
}

// separate begins a new word.
func (w *textWriter) separate() { w.gap = true }

// references is the meaning of & in a text.
type references uint8

const (
	noReferences references = iota
	inText
	inAttribute
)

// write adds text; decode enables character references.
func (w *textWriter) write(text []byte, decode bool) {
	how := noReferences
	if decode {
		how = inText
	}
	w.writePart(text, 0, len(text), how)
}

// writePart adds a part of a page, eight bytes at a time if they are words with single spaces between them.
func (w *textWriter) writePart(page []byte, i, end int, how references) {
	if w.limit > 0 && (w.cut || len(w.b)-w.begin >= w.limit) {
		w.cut = true
		return
	}
	n, b := len(w.b), room(w.b, end-i)
	if w.gap && n > w.begin {
		b[n] = ' '
		n++
	}
	after, tail := w.spaceAt(b, n), false
	for i < end {
		if i+8 > len(page) {
			// The last bytes of the page, padded.
			page, i, end, tail = w.last[:], 0, copy(w.last[:], page[i:end]), true
		}
		x := binary.LittleEndian.Uint64(page[i:])
		binary.LittleEndian.PutUint64(b[n:], x)
		var stop, spaces uint64
		if w.valid {
			stop, spaces = stopsInUTF8(x, after)
		} else {
			stop, spaces = stops(x, after)
		}
		if stop == 0 && i+8 <= end {
			n, i, after = n+8, i+8, spaces>>56
			continue
		}
		k := min(bits.TrailingZeros64(stop)/8, end-i)
		if n, i = n+k, i+k; i >= end {
			break
		}
		if c := page[i]; c <= ' ' && c != 0 {
			if after = 0x80; w.spaceAt(b, n) == 0 {
				b[n] = ' '
				n++
			}
			i++
			continue
		}
		if w.onePage && !tail && w.beyond > 256 && w.beyond > n/4 {
			w.valid, w.onePage = utf8.Valid(page), false
		}
		var skip int
		b, skip = w.stop(b[:n], page[i:end], how)
		n, i = len(b), i+skip
		b, after = room(b, end-i), w.spaceAt(b, n)
	}
	w.keep(b, n)
}

// keep accepts n bytes of b, without a space at their end, up to the limit.
func (w *textWriter) keep(b []byte, n int) {
	if w.gap = w.spaceAt(b, n) != 0; w.gap && n > w.begin {
		n--
	}
	if cap(b) == cap(w.b) {
		w.b = w.b[:n] // avoids a pointer write for the garbage collector
	} else {
		w.b = b[:n]
	}
	if w.limit > 0 && n-w.begin > w.limit {
		w.cut = true
		w.b = w.b[:w.begin+len(wholeRunes(w.b[w.begin:], w.limit))]
	}
}

// room ensures capacity for n bytes, and eight more, after the end of b.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) < n+8 {
		b = slices.Grow(b, n+8)
	}
	return b[:cap(b)]
}

// spaceAt returns a mask with the high bit of a byte set if no space must follow at n.
func (w *textWriter) spaceAt(b []byte, n int) uint64 {
	if n == w.begin || b[n-1] == ' ' {
		return 0x80
	}
	return 0
}

// stops returns a mask with the high bit set of the first (lowest) byte of x that is not written unchanged: a control
// character, &, non-ASCII, or a space after another one; after has the high bit of a byte set if there is a space
// before x. Higher bits may be wrong. spaces has the high bit of each space set.
func stops(x, after uint64) (stops, spaces uint64) {
	space := x ^ each*' '
	spaces = ^((space&^high + each*0x7f) | space | each*0x7f)
	stops = (x-each*' ')&^x | x | (x + each) | zero(x^each*'&') | spaces&(spaces<<8|after)
	return stops & high, spaces
}

// stopsInUTF8 is stops for valid UTF-8, in which only those non-ASCII characters stop that may be white space or
// dropped.
func stopsInUTF8(x, after uint64) (stops, spaces uint64) {
	space := x ^ each*' '
	spaces = ^((space&^high + each*0x7f) | space | each*0x7f)
	stops = (x-each*' ')&^x | zero(x^each*'&') | spaces&(spaces<<8|after)
	// U+007F; U+0080 to U+00BF; U+0800 to U+3FFF; U+F000 to U+FFFF.
	stops |= zero(x^each*0x7f) | zero(x^each*0xc2) | zero(x&(each*0xfc)^each*0xe0) | zero(x^each*0xef)
	return stops & high, spaces
}

const (
	each = 0x0101010101010101
	high = each * 0x80
)

// zero sets the high bit of each zero byte of x, and perhaps of a byte above it.
func zero(x uint64) uint64 { return (x - each) &^ x }

// stop handles the first character of text, and returns its length.
func (w *textWriter) stop(b, text []byte, how references) (to []byte, length int) {
	switch c := text[0]; {
	case c == '&' && how != noReferences:
		first, second, n := markup.Reference(text, how == inAttribute)
		b = w.rune(b, first)
		if second != 0 {
			b = w.rune(b, second)
		}
		return b, n
	case c == '&':
		return append(b, '&'), 1
	case c >= utf8.RuneSelf:
		return w.beyondASCII(b, text)
	}
	return w.rune(b, rune(text[0])), 1
}

// beyondASCII writes characters up to the next ASCII one.
func (w *textWriter) beyondASCII(b, text []byte) (to []byte, length int) {
	n := 0
	for n < len(text) && text[n] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(text[n:])
		if size > 1 && (r > 0xad && r < 0x1680 || r > 0x3000 && r < 0xd800) { // letters, mostly
			b = append(b, text[n:n+size]...)
		} else {
			b = w.rune(b, r)
		}
		n += size
	}
	w.beyond += n
	return b, n
}

// rune writes a character.
func (w *textWriter) rune(b []byte, r rune) []byte {
	switch kindOf(r) {
	case inWord:
		return utf8.AppendRune(b, r)
	case betweenWords:
		if w.spaceAt(b, len(b)) == 0 {
			return append(b, ' ')
		}
	case nowhere:
	}
	return b
}

type runeKind uint8

const (
	inWord runeKind = iota
	betweenWords
	nowhere
)

func kindOf(r rune) runeKind {
	switch {
	case r > ' ' && r < 0x7f, r > 0xad && r < 0x1680, r > 0x3000 && r != '\ufeff':
		return inWord
	case r == '\u00ad' || r == '\ufeff' || r == 0: // soft hyphen, byte order mark
		return nowhere
	case unicode.IsSpace(r), unicode.IsControl(r), r == '\u200b':
		return betweenWords
	}
	return inWord
}

// wholeRunes cuts text to at most n bytes, not within a character and without a space at the end.
func wholeRunes(text []byte, n int) []byte {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if n > 0 && text[n-1] == ' ' {
		n--
	}
	return text[:n]
}

func (w *textWriter) String() string { return string(w.b[w.begin:]) }

func collapse(text []byte, limit int) string {
	w := textWriter{limit: limit}
	w.write(text, false)
	return w.String()
}

// Collapse collapses white space to single spaces, with none at the ends, and cuts the text to limit bytes.
func Collapse(text string, limit int) string { return collapse([]byte(text), limit) }

// Text reads a text/plain body: only its text and charset. Its errors are those of decoding the charset.
func Text(body []byte, contentType string) (Page, error) {
	text, charset, err := decode(body, contentType)
	if err != nil {
		return Page{}, err
	}
	return Page{Text: collapse(text, 0), Charset: charset}, nil
}
