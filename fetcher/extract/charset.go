package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// utf8Name is the name of the charset that needs no decoding.
const utf8Name = "utf-8"

// decode returns body in UTF-8, and its original charset: by byte order mark, Content-Type, meta or XML declaration in
// the first KiB, else UTF-8 if it is valid, else windows-1252 (WHATWG HTML section 13.2.3.2, "determining the character
// encoding"). A UTF-8 body is not copied, and keeps invalid bytes. A decoded text has at most three times the length of
// the body.
func decode(body []byte, contentType string) (text []byte, name string, err error) {
	from, name, _ := encodingOf(body, contentType)
	return decodeAs(body, from, name)
}

// Decode returns a page in UTF-8, with the encoding determined as for HTML.
func Decode(body []byte, contentType string) ([]byte, error) {
	text, _, err := decode(body, contentType)
	return text, err
}

// decodeAs is decode for a known encoding.
func decodeAs(body []byte, from encoding.Encoding, name string) (text []byte, _ string, err error) {
	if name == utf8Name {
		return bytes.TrimPrefix(body, []byte("\ufeff")), name, nil
	}
	if m, ok := from.(*charmap.Charmap); ok {
		return decodeBytes(body, m), name, nil
	}
	text, err = from.NewDecoder().Bytes(body)
	if err != nil {
		return nil, name, fmt.Errorf("decode from %s: %w", name, err)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), name, nil
}

// encodingOf returns the encoding of a page; it is nil for UTF-8. It is a guess if none is declared and the bytes prove
// none.
func encodingOf(body []byte, contentType string) (e encoding.Encoding, name string, guess bool) {
	switch {
	case bytes.HasPrefix(body, []byte("\ufeff")):
		return nil, utf8Name, false
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be", false
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le", false
	}
	if label, ok := charsetIn([]byte(contentType)); ok {
		if e, name := lookup(label); name != "" {
			return e, name, false
		}
	}
	if e, name := prescan(body[:min(len(body), 1024)]); name != "" {
		return e, name, false
	}
	if e, name := xmlEncoding(body); name != "" {
		return e, name, false
	}
	if isUTF8(body) {
		return nil, utf8Name, false
	}
	return charmap.Windows1252, "windows-1252", true
}

// lookup returns the encoding with a label (WHATWG Encoding section 4.2); the name is "" if it is unknown.
func lookup(label []byte) (encoding.Encoding, string) {
	label = trimSpace(label)
	if bytes.EqualFold(label, []byte("utf-8")) || bytes.EqualFold(label, []byte("utf8")) {
		return nil, utf8Name
	}
	e, err := htmlindex.Get(string(label))
	if err != nil {
		return nil, ""
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return nil, ""
	}
	return e, name
}

// decodeBytes decodes a single-byte encoding whose first half is ASCII.
func decodeBytes(body []byte, m *charmap.Charmap) []byte {
	n := asciiPrefix(body)
	if n == len(body) {
		return body
	}
	var high [128]rune
	for i := range high {
		high[i] = m.DecodeByte(byte(0x80 + i))
	}
	text := make([]byte, 0, len(body)+len(body)/8)
	for {
		text = append(text, body[:n]...)
		if body = body[n:]; len(body) == 0 {
			return text
		}
		for n = 0; n < len(body) && body[n] >= utf8.RuneSelf; n++ {
			text = utf8.AppendRune(text, high[body[n]-0x80])
		}
		body = body[n:]
		n = asciiPrefix(body)
	}
}

// asciiPrefix returns the number of leading ASCII bytes.
func asciiPrefix(b []byte) int {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if high := binary.LittleEndian.Uint64(b[n:]) & 0x8080808080808080; high != 0 {
			return n + bits.TrailingZeros64(high)/8
		}
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// isUTF8 reports whether body has non-ASCII characters and is valid UTF-8, apart from a last character that was cut off
// with the body.
func isUTF8(body []byte) bool {
	for i := len(body) - 1; i >= 0 && i >= len(body)-utf8.UTFMax; i-- {
		if utf8.RuneStart(body[i]) {
			if !utf8.FullRune(body[i:]) {
				body = body[:i]
			}
			break
		}
	}
	n := asciiPrefix(body)
	return n < len(body) && utf8.Valid(body[n:])
}
