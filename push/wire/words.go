package wire

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWords is the number of bytes kept of an error's message.
const MaxWords = 1000

// Words returns the message in the body of an error response: the text of an XML document, otherwise the body itself;
// on one line, without control characters, at most MaxWords bytes.
func Words(body []byte) string {
	if text := xmlText(body); text != "" {
		return Clip(text, MaxWords)
	}
	return Clip(Plain(string(body)), MaxWords)
}

// xmlText returns the character data and the attributes named message of an XML document with any elements. It returns
// "" if body is not XML. It reads nothing outside body, and expands only the five entities of XML itself.
func xmlText(body []byte) string {
	d := xml.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(body, []byte("\ufffd"))))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var words []string
	add := func(s string) {
		if s = Plain(s); s != "" {
			words = append(words, s)
		}
	}
	depth := 0
	for {
		token, err := d.RawToken()
		if err != nil {
			return strings.Join(words, " ") // the available part of a truncated document
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			for _, a := range token.Attr {
				if a.Name.Local == "message" {
					add(a.Value)
				}
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth > 0 {
				add(string(token))
			}
		}
	}
}

// Plain converts s to one line that is safe for a log.
func Plain(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
}

// Clip cuts s to at most n bytes, between characters.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
