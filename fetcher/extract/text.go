package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textWriter collects text with white space collapsed to single spaces, and none
// at the ends. Control characters are white space, bytes that are no UTF-8 become
// U+FFFD.
type textWriter struct {
	b     strings.Builder
	limit int // in bytes, after which the text is cut; 0: none
	gap   bool
	full  bool
}

// separate makes sure that what follows is another word.
func (w *textWriter) separate() { w.gap = true }

func (w *textWriter) write(text []byte) {
	start, i := 0, 0
	for i < len(text) {
		if c := text[i]; c > ' ' && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			w.word(text[start:i])
			w.word([]byte("\ufffd"))
		} else if kind := kindOf(r); kind == inWord {
			i += n
			continue
		} else {
			w.word(text[start:i])
			w.gap = w.gap || kind == betweenWords
		}
		i += n
		start = i
	}
	w.word(text[start:])
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

func (w *textWriter) word(text []byte) {
	if len(text) == 0 || w.full {
		return
	}
	space := w.gap && w.b.Len() > 0
	w.gap = false
	if w.limit > 0 {
		room := w.limit - w.b.Len()
		if space {
			room--
		}
		if len(text) > room {
			w.full = true
			text = wholeRunes(text, room)
			if len(text) == 0 {
				return
			}
		}
	}
	if space {
		w.b.WriteByte(' ')
	}
	w.b.Write(text)
}

// wholeRunes cuts text to at most n bytes, not inside of a character.
func wholeRunes(text []byte, n int) []byte {
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func (w *textWriter) String() string { return w.b.String() }

func collapse(text []byte, limit int) string {
	w := textWriter{limit: limit}
	w.write(text)
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
