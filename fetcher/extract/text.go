package extract

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// textWriter collects text with white space collapsed to single spaces, and none
// at the ends. Control characters are white space, bytes that are no UTF-8 become
// U+FFFD.
type textWriter struct {
	b     []byte
	limit int  // in bytes, after which the text is cut; 0: none
	gap   bool // what follows is another word
}

// separate makes sure that what follows is another word.
func (w *textWriter) separate() { w.gap = true }

// write adds text; references says that & begins character references in it.
func (w *textWriter) write(text []byte, references bool) {
	if w.limit > 0 && len(w.b) >= w.limit {
		return
	}
	for i := 0; i < len(text); {
		if !w.gap && len(w.b) > 0 {
			// Mostly, words with single spaces between them.
			n := plain(text[i:])
			w.b = append(w.b, text[i:i+n]...)
			if i += n; i == len(text) {
				break
			}
		}
		i += w.one(text[i:], references)
	}
	if w.limit > 0 && len(w.b) > w.limit {
		w.b = wholeRunes(w.b, w.limit)
	}
}

// one writes the character that text begins with, and gives its length.
func (w *textWriter) one(text []byte, references bool) int {
	switch c := text[0]; {
	case c <= ' ' || c == 0x7f:
		w.gap = true
		return 1
	case c == '&' && references:
		first, second, n := markup.Reference(text, false)
		w.rune(first)
		if second != 0 {
			w.rune(second)
		}
		return n
	case c < utf8.RuneSelf:
		w.word()
		w.b = append(w.b, c)
		return 1
	}
	r, n := utf8.DecodeRune(text)
	w.rune(r)
	return n
}

// rune writes a character.
func (w *textWriter) rune(r rune) {
	switch kindOf(r) {
	case inWord:
		w.word()
		w.b = utf8.AppendRune(w.b, r)
	case betweenWords:
		w.gap = true
	}
}

// word begins a word.
func (w *textWriter) word() {
	if w.gap && len(w.b) > 0 {
		w.b = append(w.b, ' ')
	}
	w.gap = false
}

// plain is the length of the beginning of text that is written as it is after a
// word: ASCII without control characters, references and runs of spaces, its last
// space left out. There may be more of it behind.
func plain(text []byte) int {
	const (
		each = 0x0101010101010101
		high = 0x8080808080808080
	)
	n, spaces := 0, uint64(0)
	for ; n+8 <= len(text); n += 8 {
		x := binary.LittleEndian.Uint64(text[n:])
		// The high bit of each byte: below a space, or no ASCII; &; DEL; a space.
		special := (x - each*' ') &^ x
		special |= x | zero(x^each*'&') | zero(x^each*0x7f)
		space := zero(x^each*' ') & high
		if (special|space&(space<<8|spaces))&high != 0 {
			break
		}
		spaces = space >> 56
	}
	after := spaces != 0
	for end := min(n+8, len(text)); n < end; n++ {
		c := text[n]
		if c < ' ' || c >= 0x7f || c == '&' || c == ' ' && after {
			break
		}
		after = c == ' '
	}
	if after {
		n--
	}
	return n
}

// zero has the high bit set of each byte of x that is zero, and perhaps of one that
// is 1 above such a byte.
func zero(x uint64) uint64 {
	const each = 0x0101010101010101
	return (x - each) &^ x
}

type runeKind uint8

const (
	inWord runeKind = iota
	betweenWords
	nowhere
)

func kindOf(r rune) runeKind {
	switch {
	case r == '\u00ad' || r == '\ufeff': // soft hyphen, byte order mark
		return nowhere
	case unicode.IsSpace(r), unicode.IsControl(r), r == '\u200b':
		return betweenWords
	}
	return inWord
}

// wholeRunes cuts text to at most n bytes, not inside of a character and without a
// space at its end.
func wholeRunes(text []byte, n int) []byte {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if n > 0 && text[n-1] == ' ' {
		n--
	}
	return text[:n]
}

func (w *textWriter) String() string { return string(w.b) }

func collapse(text []byte, limit int) string {
	w := textWriter{limit: limit}
	w.write(text, false)
	return w.String()
}

// Text reads a text/plain body: its text and charset, nothing else. An error is
// one of decoding the charset.
func Text(body []byte, contentType string) (Page, error) {
	text, charset, err := decode(body, contentType)
	if err != nil {
		return Page{}, err
	}
	return Page{Text: collapse(text, 0), Charset: charset}, nil
}
