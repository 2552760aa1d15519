package office

import (
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// legacyReader reads one document of Office 97 to 2003: MS-DOC, MS-XLS and MS-PPT, as far as text requires. No position
// or length in the file is trusted: nothing is read outside a stream, and no allocation depends on a count.
type legacyReader struct {
	ctx  context.Context
	b    *extract.Builder
	page encoding.Encoding // of single-byte text
}

func readLegacy(ctx context.Context, format Format, body []byte, b *extract.Builder) error {
	return readCompound(&legacyReader{ctx: ctx, b: b, page: codePage(1252)}, format, body)
}

// decodePage decodes text of a code page; nil is Western Windows.
func decodePage(page encoding.Encoding, text []byte) string {
	if page == nil {
		page = codePage(1252)
	}
	out, err := page.NewDecoder().Bytes(text)
	if err != nil {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	return string(out)
}

// utf16Text decodes UTF-16; it drops half a character at the end.
func utf16Text(text []byte) string {
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(text[2*i:])
	}
	return string(utf16.Decode(units))
}

// latin decodes text whose bytes are the low bytes of characters.
func latin(text []byte) string {
	out := make([]byte, 0, len(text))
	for _, c := range text {
		out = utf8.AppendRune(out, rune(c))
	}
	return string(out)
}

// summary adds the property sets of a file (MS-OLEPS).
func summary(c *compound, b *extract.Builder) {
	names := map[uint32]string{2: "title", 3: "subject", 4: "author", 5: "keywords", 6: "description", 12: "created", 13: "modified", 14: "pages"}
	own := propertySet(c.stream("SummaryInformation"), names)
	more := propertySet(c.stream("DocumentSummaryInformation"), map[uint32]string{7: "pages"}) // slides
	b.Title(own["title"].text)
	for _, name := range []string{"author", "subject", "description", "keywords"} {
		b.Meta(name, own[name].text)
	}
	for _, pages := range []string{more["pages"].text, own["pages"].text} {
		if pages != "" && pages != "0" {
			b.Meta("pages", pages)
			break
		}
	}
	b.Time("created", own["created"].at)
	b.Time("modified", own["modified"].at)
}
