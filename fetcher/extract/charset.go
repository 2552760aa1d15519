package extract

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// decode gives body in UTF-8, and the charset that it was in: by byte order mark,
// Content-Type, meta or XML declaration in the first KiB, else UTF-8 if it is
// that, else windows-1252 (WHATWG HTML, "determining the character encoding").
// What is UTF-8 already is not copied. Invalid UTF-8 is left in it.
func decode(body []byte, contentType string) (text []byte, name string, err error) {
	from, name, _ := charset.DetermineEncoding(body, contentType)
	if from == charmap.Windows1252 { // the default, not one that was declared
		if e, declared := xmlEncoding(body); e != nil {
			from, name = e, declared
		} else if isUTF8(body) {
			name = "utf-8"
		}
	}
	if name == "utf-8" {
		return bytes.TrimPrefix(body, []byte("\ufeff")), name, nil
	}
	text, err = from.NewDecoder().Bytes(body)
	if err != nil {
		return nil, name, fmt.Errorf("decode from %s: %w", name, err)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), name, nil
}

// xmlEncoding reads the encoding out of an XML declaration.
func xmlEncoding(body []byte) (encoding.Encoding, string) {
	body, ok := bytes.CutPrefix(body[:min(len(body), 1024)], []byte("<?xml"))
	if !ok {
		return nil, ""
	}
	declaration, _, _ := bytes.Cut(body, []byte(">"))
	_, value, ok := bytes.Cut(declaration, []byte("encoding"))
	value = bytes.TrimLeft(value, " \t\r\n=")
	if !ok || len(value) == 0 || value[0] != '"' && value[0] != '\'' {
		return nil, ""
	}
	label, _, _ := bytes.Cut(value[1:], value[:1])
	return charset.Lookup(string(label))
}

// isUTF8 says that body has more than ASCII in it, and is UTF-8 as a whole but
// for a last character that was cut off with the body.
func isUTF8(body []byte) bool {
	for i := len(body) - 1; i >= 0 && i >= len(body)-utf8.UTFMax; i-- {
		if utf8.RuneStart(body[i]) {
			if !utf8.FullRune(body[i:]) {
				body = body[:i]
			}
			break
		}
	}
	for i, c := range body {
		if c >= utf8.RuneSelf {
			return utf8.Valid(body[i:])
		}
	}
	return false
}
