package extract

import (
	"bytes"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// prescan returns the charset that a meta element in the first bytes of a page declares (WHATWG HTML section 13.2.3.2,
// "prescan a byte stream"); the name is "" if none does.
func prescan(page []byte) (encoding.Encoding, string) {
	for i := 0; i < len(page); {
		rest := page[i:]
		switch {
		case rest[0] != '<':
			i++
		case bytes.HasPrefix(rest, []byte("<!--")):
			end := bytes.Index(rest[2:], []byte("-->"))
			if end < 0 {
				return nil, ""
			}
			i += 2 + end + 3
		case len(rest) > 5 && bytes.EqualFold(rest[:5], []byte("<meta")) && (isSpace(rest[5]) || rest[5] == '/'):
			m := scannedMeta{}
			if i = m.read(page, i+5); i >= len(page) {
				return nil, ""
			}
			if e, name := m.encoding(); name != "" {
				return e, name
			}
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
			for i < len(page) && !isSpace(page[i]) && page[i] != '>' {
				i++
			}
			i = new(scannedMeta).read(page, i)
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			end := bytes.IndexByte(rest, '>')
			if end < 0 {
				return nil, ""
			}
			i += end + 1
		default:
			i++
		}
	}
	return nil, ""
}

// scannedMeta holds the attributes of a meta that declare a charset. The first of duplicate attributes counts.
type scannedMeta struct {
	charset, content, httpEquiv []byte
}

// read reads the attributes of a tag, and returns its end.
func (m *scannedMeta) read(page []byte, i int) int {
	for {
		name, value, next := scannedAttribute(page, i)
		if len(name) == 0 {
			return next
		}
		i = next
		for _, a := range [...]struct {
			name string
			to   *[]byte
		}{{"charset", &m.charset}, {"content", &m.content}, {"http-equiv", &m.httpEquiv}} {
			if *a.to == nil && bytes.EqualFold(name, []byte(a.name)) {
				*a.to = value
			}
		}
	}
}

// encoding returns the declared encoding. It cannot be UTF-16, since the element was readable.
func (m *scannedMeta) encoding() (encoding.Encoding, string) {
	label := m.charset
	if label == nil {
		var ok bool
		if label, ok = charsetIn(m.content); !ok || !bytes.EqualFold(m.httpEquiv, []byte("content-type")) {
			return nil, ""
		}
	}
	switch e, name := lookup(label); name {
	case "utf-16be", "utf-16le":
		return nil, utf8Name
	case "x-user-defined":
		return charmap.Windows1252, "windows-1252"
	default:
		return e, name
	}
}

// scannedAttribute is "get an attribute" of the same section; the name is empty after the last one.
func scannedAttribute(page []byte, i int) (name, value []byte, next int) {
	for i < len(page) && (isSpace(page[i]) || page[i] == '/') {
		i++
	}
	if i >= len(page) || page[i] == '>' {
		return nil, nil, i
	}
	begin := i
	for i < len(page) && !isSpace(page[i]) && page[i] != '/' && page[i] != '>' && (page[i] != '=' || i == begin) {
		i++
	}
	name = page[begin:i]
	i = skipSpace(page, i)
	if i >= len(page) || page[i] != '=' {
		return name, page[i:i], i
	}
	if i = skipSpace(page, i+1); i >= len(page) {
		return name, page[i:i], i
	}
	if quote := page[i]; quote == '"' || quote == '\'' {
		end := bytes.IndexByte(page[i+1:], quote)
		if end < 0 {
			return nil, nil, len(page)
		}
		return name, page[i+1 : i+1+end], i + 1 + end + 1
	}
	begin = i
	for i < len(page) && !isSpace(page[i]) && page[i] != '>' {
		i++
	}
	return name, page[begin:i], i
}

// charsetIn finds the label of a charset in a Content-Type (WHATWG HTML section
// 2.4.4, "extracting a character encoding from a meta element").
func charsetIn(contentType []byte) (label []byte, ok bool) {
	for s := contentType; ; {
		i := indexFold(s, "charset")
		if i < 0 {
			return nil, false
		}
		s = trimSpace(s[i+len("charset"):])
		if len(s) == 0 || s[0] != '=' {
			continue
		}
		if s = trimSpace(s[1:]); len(s) == 0 {
			return nil, false
		}
		if s[0] == '"' || s[0] == '\'' {
			label, _, ok = bytes.Cut(s[1:], s[:1])
			return label, ok
		}
		if i := bytes.IndexAny(s, "; \t\n\f\r"); i >= 0 {
			s = s[:i]
		}
		return s, true
	}
}

// xmlEncoding returns the encoding of an XML declaration.
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
	if e, name := lookup(label); name != "utf-16be" && name != "utf-16le" {
		return e, name
	}
	return nil, utf8Name
}

// indexFold returns the first index of a lower-case word, in any case.
func indexFold(s []byte, word string) int {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i]|0x20 == word[0] && bytes.EqualFold(s[i:i+len(word)], []byte(word)) {
			return i
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func skipSpace(s []byte, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

func trimSpace(s []byte) []byte { return bytes.Trim(s, " \t\n\f\r") }
