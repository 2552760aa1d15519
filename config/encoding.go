package config

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// fault is an error that makes the whole file unreadable, with its byte offset.
type fault struct {
	offset  int
	message string
}

func faultf(offset int, format string, args ...any) *fault {
	return &fault{offset, fmt.Sprintf(format, args...)}
}

// notation is the kind of a file, which determines the allowed characters.
type notation uint8

const (
	xmlFile  notation = iota
	lineFile          // lists and rules, one a line
)

// decode converts a file to UTF-8 without byte order mark. A byte order mark has precedence over the encoding in the
// XML declaration. With a fault the text is the part before it.
func (n notation) decode(raw []byte) ([]byte, *fault) {
	switch {
	case bytes.HasPrefix(raw, []byte("\xEF\xBB\xBF")):
		return n.checkCharacters(raw[3:])
	case bytes.HasPrefix(raw, []byte("\xFF\xFE\x00\x00")), bytes.HasPrefix(raw, []byte("\x00\x00\xFE\xFF")):
		return nil, faultf(0, "the file is UTF-32: save it as UTF-8")
	case bytes.HasPrefix(raw, []byte("\xFF\xFE")):
		return n.decodeUTF16(raw[2:], binary.LittleEndian)
	case bytes.HasPrefix(raw, []byte("\xFE\xFF")):
		return n.decodeUTF16(raw[2:], binary.BigEndian)
	case n != xmlFile:
		return n.checkCharacters(raw)
	case bytes.HasPrefix(raw, []byte("<\x00")):
		return n.decodeUTF16(raw, binary.LittleEndian)
	case bytes.HasPrefix(raw, []byte("\x00<")):
		return n.decodeUTF16(raw, binary.BigEndian)
	}
	name, at := declaredEncoding(raw)
	if name == "" || strings.EqualFold(name, "utf-8") || strings.EqualFold(name, "utf8") {
		return n.checkCharacters(raw)
	}
	return decodeDeclared(raw, name, at)
}

// declaredEncoding returns the encoding in the XML declaration and its offset.
func declaredEncoding(raw []byte) (name string, at int) {
	head := raw[:min(len(raw), 1024)]
	m := regexp.MustCompile(`^<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]*)["']`).FindSubmatchIndex(head)
	if m == nil {
		return "", 0
	}
	return string(head[m[2]:m[3]]), m[2]
}

func decodeDeclared(raw []byte, name string, at int) ([]byte, *fault) {
	enc, err := htmlindex.Get(name)
	if err != nil || enc == encoding.Replacement {
		return raw[:at], faultf(at, "unknown encoding %s: save the file as UTF-8", quote(name))
	}
	if canonical, _ := htmlindex.Name(enc); strings.HasPrefix(canonical, "utf-16") {
		return raw[:at], faultf(at, "the file is not %s, as declared here: remove the encoding, or save it so", name)
	}
	text, err := enc.NewDecoder().Bytes(raw)
	if err != nil {
		return raw[:at], faultf(at, "the file cannot be read as %s: %v", name, err)
	}
	if i := bytes.IndexRune(text, utf8.RuneError); i >= 0 {
		return text[:i], faultf(i, "not a character of %s, the encoding that the file declares", name)
	}
	return xmlFile.checkCharacters(text)
}

func (n notation) decodeUTF16(raw []byte, order binary.ByteOrder) ([]byte, *fault) {
	out := make([]byte, 0, len(raw)/2+len(raw)/8)
	for len(raw) > 0 {
		if len(raw) == 1 {
			return out, faultf(len(out), "the file ends in the middle of a character of UTF-16")
		}
		r, size := rune(order.Uint16(raw)), 2
		if utf16.IsSurrogate(r) {
			var low rune
			if len(raw) >= 4 {
				low = rune(order.Uint16(raw[2:]))
			}
			if r, size = utf16.DecodeRune(r, low), 4; r == utf8.RuneError {
				return out, faultf(len(out), "half of a surrogate pair: not valid UTF-16")
			}
		}
		if !isXMLCharacter(r) {
			return out, n.characterFault(len(out), r)
		}
		out = utf8.AppendRune(out, r)
		raw = raw[size:]
	}
	return out, nil
}

// checkCharacters returns the text up to the first byte that is not UTF-8, or the first character that XML 1.0 (section
// 2.2) does not allow, and no other text needs.
func (n notation) checkCharacters(text []byte) ([]byte, *fault) {
	for i := 0; i < len(text); {
		if b := text[i]; b >= ' ' && b < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			if n != xmlFile {
				return text[:i], faultf(i, "byte 0x%02X is not valid UTF-8: save the file as UTF-8", text[i])
			}
			return text[:i], faultf(i, "byte 0x%02X is not valid UTF-8: save the file as UTF-8, or declare its encoding in <?xml version=\"1.0\" encoding=\"...\"?>", text[i])
		}
		if !isXMLCharacter(r) {
			return text[:i], n.characterFault(i, r)
		}
		i += size
	}
	return text, nil
}

func (n notation) characterFault(offset int, r rune) *fault {
	switch {
	case r == 0 && n != xmlFile:
		return faultf(offset, "NUL byte: this is not a text file, or UTF-16 without its mark: save it as UTF-8")
	case r == 0:
		return faultf(offset, "NUL byte: this is not an XML text file")
	case n != xmlFile:
		return faultf(offset, "control character %U: remove it", r)
	}
	return faultf(offset, "control character %U, which XML does not allow: remove it", r)
}

func isXMLCharacter(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF ||
		r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= utf8.MaxRune
}
