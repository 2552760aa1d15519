package config

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

const sample = "<?xml version=\"1.0\" encoding=\"ENC\"?>\r\n<CrawlConfig>\r\n<Crawler name=\"café\" from=\"é\"/>\r\n</CrawlConfig>\r\n"

func inUTF16(text string, order binary.ByteOrder) []byte {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune(text)) {
		_ = binary.Write(&b, order, u)
	}
	return b.Bytes()
}

func utf16WithMark(text string, little bool) []byte {
	if little {
		return append([]byte("\xFF\xFE"), inUTF16(text, binary.LittleEndian)...)
	}
	return append([]byte("\xFE\xFF"), inUTF16(text, binary.BigEndian)...)
}

// Every encoding gives the same error at the same place: é in from.
func TestEncodings(t *testing.T) {
	declared := func(enc string) string { return strings.Replace(sample, "ENC", enc, 1) }
	latin1 := func(enc string) []byte {
		return []byte(strings.ReplaceAll(declared(enc), "é", "\xE9"))
	}
	for name, raw := range map[string][]byte{
		"UTF-8":                    []byte(declared("utf-8")),
		"UTF-8 with mark":          []byte("\xEF\xBB\xBF" + declared("UTF-8")),
		"mark outdoes declaration": []byte("\xEF\xBB\xBF" + declared("ISO-8859-1")),
		"UTF-16LE":                 append([]byte("\xFF\xFE"), inUTF16(declared("UTF-16"), binary.LittleEndian)...),
		"UTF-16BE":                 append([]byte("\xFE\xFF"), inUTF16(declared("UTF-16"), binary.BigEndian)...),
		"UTF-16LE without mark":    inUTF16(declared("UTF-16"), binary.LittleEndian),
		"UTF-16BE without mark":    inUTF16(declared("UTF-16"), binary.BigEndian),
		"ISO-8859-1":               latin1("ISO-8859-1"),
		"windows-1252":             latin1("windows-1252"),
		"single quotes":            []byte(strings.Replace(declared("utf-8"), `"utf-8"`, `'utf-8'`, 1)),
		"LF":                       []byte(strings.ReplaceAll(declared("utf-8"), "\r\n", "\n")),
		"CR":                       []byte(strings.ReplaceAll(declared("utf-8"), "\r\n", "\r")),
	} {
		_, report := Parse("f.xml", raw, Lookups{})
		want := "f.xml:3:28: from=\"é\" contains characters that a header cannot: write printable ASCII\n"
		if got := problemLines(report.Errors); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestFilesThatAreNoText(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"empty":            {"", "f.xml:1:1: the file is empty: a <CrawlConfig> is expected"},
		"white space":      {" \n\n", "f.xml:1:1: the file is empty: a <CrawlConfig> is expected"},
		"only a mark":      {"\xEF\xBB\xBF", "f.xml:1:1: the file is empty: a <CrawlConfig> is expected"},
		"only a comment":   {"<!-- x -->\n", "f.xml:1:11: the file contains no element: a <CrawlConfig> is expected"},
		"NUL":              {"<CrawlConfig>\n é\x00", "f.xml:2:3: NUL byte: this is not an XML text file"},
		"gzip":             {"\x1F\x8B\x08\x00", "f.xml:1:1: control character U+001F, which XML does not allow: remove it"},
		"control":          {"<CrawlConfig>\n\x07", "f.xml:2:1: control character U+0007, which XML does not allow: remove it"},
		"invalid UTF-8":    {"<CrawlConfig>\ncaf\xE9</CrawlConfig>", "f.xml:2:4: byte 0xE9 is not valid UTF-8: save the file as UTF-8, or declare its encoding in <?xml version=\"1.0\" encoding=\"...\"?>"},
		"cut UTF-8":        {"<CrawlConfig>\xE2\x82", "f.xml:1:14: byte 0xE2 is not valid UTF-8: save the file as UTF-8, or declare its encoding in <?xml version=\"1.0\" encoding=\"...\"?>"},
		"reference to NUL": {"<CrawlConfig>&#0;</CrawlConfig>", "f.xml:1:17: not well-formed XML: illegal character code U+0000"},
		"UTF-32":           {"\xFF\xFE\x00\x00<\x00\x00\x00", "f.xml:1:1: the file is UTF-32: save it as UTF-8"},
		"odd UTF-16":       {"\xFF\xFE<\x00x", "f.xml:1:2: the file ends in the middle of a UTF-16 character"},
		"half a surrogate": {"\xFF\xFE<\x00\x00\xD8<\x00", "f.xml:1:2: half of a surrogate pair: not valid UTF-16"},
		"NUL in UTF-16":    {"\xFF\xFE<\x00\x00\x00", "f.xml:1:2: NUL byte: this is not an XML text file"},
		"not Shift_JIS":    {"<?xml version=\"1.0\" encoding=\"Shift_JIS\"?>\n<a\xFF/>", "f.xml:2:3: this character does not exist in Shift_JIS, the encoding that the file declares"},
		"replacement":      {"<?xml version=\"1.0\" encoding=\"iso-2022-kr\"?>\n<a/>", "f.xml:1:31: unknown encoding \"iso-2022-kr\": save the file as UTF-8"},
	} {
		file, report := Parse("f.xml", []byte(c.raw), Lookups{})
		if got := problemLines(report.Errors); file != nil || got != c.want+"\n" {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}
