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

// Words are the words in the body of an error answer: the text of an XML
// document, or else the body as it is; on one line, without control characters,
// not longer than MaxWords.
func Words(body []byte) string {
	if text := xmlText(body); text != "" {
		return Clip(text, MaxWords)
	}
	return Clip(Plain(string(body)), MaxWords)
}

// xmlText is the character data of an XML document, and the attributes named
// message, whose elements are unknown. It is empty for what is not XML. Nothing
// outside body is read, and entities but the five of XML itself are not expanded.
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
			return strings.Join(words, " ") // of a document cut off, what there is
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

// Plain makes s fit for one line of a log.
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
