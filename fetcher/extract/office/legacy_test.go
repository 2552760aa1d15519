package office

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
)

func legacyFiles() map[Format][]byte {
	return map[Format][]byte{DOC: testdocs.DOC(content), XLS: testdocs.XLS(content), PPT: testdocs.PPT(content)}
}

// TestLegacyOfAnotherKind: what is declared as another of the old formats is read as what
// it is.
func TestLegacyOfAnotherKind(t *testing.T) {
	for format, body := range legacyFiles() {
		for _, declared := range []Format{DOC, XLS, PPT} {
			if p, err := Read(t.Context(), declared, body); err != nil || !strings.Contains(p.Text, "Some text.") {
				t.Errorf("%s as %s: %q, %v", format, declared, p.Text, err)
			}
		}
	}
}

func TestLegacyErrors(t *testing.T) {
	encrypted := testdocs.DOC(content)
	at := bytes.Index(encrypted, []byte{0xec, 0xa5, 0xc1, 0})
	encrypted[at+0x0b] |= 1
	word95 := make([]byte, 2048)
	binary.LittleEndian.PutUint16(word95, 0xa5dc)
	binary.LittleEndian.PutUint16(word95[2:], 101)
	binary.LittleEndian.PutUint32(word95[0x18:], 512)
	binary.LittleEndian.PutUint32(word95[0x34:], 11)
	copy(word95[512:], "Word 95 \x93a\x94\x00not this")
	book := append(testdocs.Record(0x809, uint16(0x500), uint16(5), make([]byte, 4)), testdocs.Record(0x42, uint16(1251))...)
	book = append(book, testdocs.Record(0x204, make([]byte, 6), uint16(2), []byte("\xcf\xf0"))...)
	user := append(append(make([]byte, 12), 0xdf, 0xc4, 0xd1, 0xf3), make([]byte, 8)...)
	for name, tt := range map[string]struct {
		format Format
		body   []byte
		text   string
		err    error // nil with no text: any
	}{
		"Word 95":              {DOC, testdocs.Compound(testdocs.Part{Name: "WordDocument", Body: string(word95)}), "Word 95 \u201ca\u201d", nil},
		"Excel 95":             {XLS, testdocs.Compound(testdocs.Part{Name: "Book", Body: string(book)}), "\u041f\u0440", nil},
		"encrypted Word":       {DOC, encrypted, "", extract.ErrEncrypted},
		"encrypted Excel":      {XLS, testdocs.Compound(testdocs.Part{Name: "Workbook", Body: string(append(testdocs.Record(0x809, uint16(0x600), uint16(5), make([]byte, 12)), testdocs.Record(0x2f, uint16(1))...))}), "", extract.ErrEncrypted},
		"encrypted PowerPoint": {PPT, testdocs.Compound(testdocs.Part{Name: "PowerPoint Document", Body: "x"}, testdocs.Part{Name: "Current User", Body: string(user)}), "", extract.ErrEncrypted},
		"encrypted package":    {DOC, testdocs.Compound(testdocs.Part{Name: "EncryptedPackage", Body: "x"}), "", extract.ErrEncrypted},
		"nothing in it":        {DOC, testdocs.Compound(testdocs.Part{Name: "Contents", Body: "x"}), "", errNoStream},
		"no compound file":     {DOC, []byte("x"), "", nil},
		"only its begin":       {DOC, compoundFile, "", nil},
		"without its edits":    {PPT, testdocs.Compound(testdocs.Part{Name: "PowerPoint Document", Body: string(testdocs.Slide(0x03ee, 0, testdocs.Slide(0x0fa8, 0, []byte("alone")), testdocs.Slide(0x03f8, 0, testdocs.Slide(0x0fa8, 0, []byte("master")))))}), "alone", nil},
	} {
		p, err := Read(t.Context(), tt.format, tt.body)
		if p.Text != tt.text || (err != nil) != (tt.text == "") || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, p.Text, err, tt.text, tt.err)
		}
	}
}

// TestHostileLegacy: files that are cut off, changed anywhere, or whose chains of sectors
// run in a circle end, in little time, with an error or with a part of the text.
func TestHostileLegacy(t *testing.T) {
	r, files := rand.New(rand.NewPCG(1, 2)), legacyFiles()
	for _, format := range []Format{DOC, XLS, PPT} {
		body := files[format]
		for n := 0; n < len(body); n += 97 {
			_, _ = Read(t.Context(), format, body[:n])
		}
		for range 2000 {
			changed := bytes.Clone(body)
			for range 1 + r.IntN(8) {
				at := r.IntN(len(changed))
				if r.IntN(2) == 0 {
					at = min(512*r.IntN(len(changed)/512)+r.IntN(64), len(changed)-1)
				}
				changed[at] = byte(r.IntN(256))
			}
			_, _ = Read(t.Context(), format, changed)
		}
		circle := bytes.Clone(body)
		fat := 512 + 512*int(binary.LittleEndian.Uint32(circle[76:]))
		for at := fat; at < len(circle); at += 4 {
			binary.LittleEndian.PutUint32(circle[at:], 0)
		}
		if p, err := Read(t.Context(), format, circle); err == nil && len(p.Text) > 1<<20 {
			t.Errorf("%s: a chain in a circle gave %d bytes", format, len(p.Text))
		}
	}
}

// TestSharedStringBomb: a long string that many cells show costs no more than the limit of
// a document's text.
func TestSharedStringBomb(t *testing.T) {
	long := bytes.Repeat([]byte("word "), 1600)
	book := append(testdocs.Record(0x809, uint16(0x600), uint16(0x10), make([]byte, 12)), testdocs.Record(0xfc, uint32(1), uint32(1<<31), uint16(len(long)), byte(0), long)...)
	cell := testdocs.Record(0xfd, make([]byte, 6), uint32(0))
	book = append(book, bytes.Repeat(cell, 100_000)...)
	p, err := Read(t.Context(), XLS, testdocs.Compound(testdocs.Part{Name: "Workbook", Body: string(book)}))
	if err != nil || len(p.Text) > 11<<20 || len(p.Metas) == 0 || p.Metas[len(p.Metas)-1].Name != "truncated" {
		t.Errorf("%d bytes of text, %v, %v", len(p.Text), p.Metas, err)
	}
}

func FuzzLegacy(f *testing.F) {
	for format, body := range legacyFiles() {
		f.Add(string(format), body)
	}
	f.Fuzz(func(t *testing.T, format string, body []byte) {
		switch Format(format) {
		case DOC, XLS, PPT:
		default:
			return
		}
		p, err := Read(t.Context(), Format(format), body)
		if err != nil && p.Text != "" || len(p.Text) > 16<<20 {
			t.Errorf("%d bytes of text with %v", len(p.Text), err)
		}
	})
}

// FuzzPropertySet has what stands in a stream of properties alone.
func FuzzPropertySet(f *testing.F) {
	f.Add([]byte(testdocs.Summary(content).Body))
	f.Fuzz(func(t *testing.T, stream []byte) {
		for name, p := range propertySet(stream, map[uint32]string{2: "title", 12: "created"}) {
			if len(p.text) > 4*maxProperty {
				t.Errorf("%s has %d bytes", name, len(p.text))
			}
		}
	})
}
