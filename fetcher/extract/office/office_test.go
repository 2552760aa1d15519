package office

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
)

var content = testdocs.Content{Title: "Tides & quays", Author: "Ann Author", Text: "Some text.", Link: "https://example.com/a?b&c"}

func TestFormats(t *testing.T) {
	plain := content
	plain.Title, plain.Link = "Tides", "https://example.com/a"
	metas := func(author string, more ...extract.Meta) []extract.Meta {
		return append([]extract.Meta{{Name: "author", Content: author}, {Name: "subject", Content: "Harbours"}}, more...)
	}
	tail := []extract.Meta{
		{Name: "keywords", Content: "tide, quay"},
		{Name: "created", Content: "2026-01-02T03:04:05Z"}, {Name: "modified", Content: "2026-02-03T04:05:06Z"},
	}
	legacy := append(metas("Ann Author", tail[0], extract.Meta{Name: "pages", Content: "7"}), tail[1:]...)
	tests := []struct {
		format Format
		body   []byte
		want   extract.Page
	}{
		{DOCX, testdocs.DOCX(content), extract.Page{Title: "Tides & quays", Language: "en-GB", Text: "Some text. A footnote.", Metas: metas("Ann Author", tail...)}},
		{XLSX, testdocs.XLSX(content), extract.Page{Title: "Tides & quays", Language: "en-GB", Text: "Tides Some text. 42.5 rich inline TRUE result", Metas: metas("Ann Author", tail...)}},
		{PPTX, testdocs.PPTX(content), extract.Page{Title: "Tides & quays", Language: "en-GB", Text: "Some text. A note. The second slide.", Metas: metas("Ann Author", tail...)}},
		{ODT, testdocs.ODF("text", content), extract.Page{
			Title: "Tides & quays", Language: "en-GB", Text: "Some text. more",
			Metas: append(metas("Ann Author", tail...), extract.Meta{Name: "pages", Content: "3"}),
		}},
		{RTF, testdocs.RTF(plain), extract.Page{
			Title: "Tides", Text: "Some text. more",
			Metas: append(metas("Ann Author", tail[0], extract.Meta{Name: "pages", Content: "7"}), tail[1:]...),
		}},
		{DOC, testdocs.DOC(content), extract.Page{Title: "Tides & quays", Text: "Some text. more \u65e5\u672c", Metas: legacy}},
		{XLS, testdocs.XLS(content), extract.Page{
			Title: "Tides & quays", Text: "Tides Some text. \u65e5\u672c\u8a9e 42.5 42.17 7 8 label TRUE 1.5 result A comment", Metas: legacy,
		}},
		{PPT, testdocs.PPT(content), extract.Page{
			Title: "Tides & quays", Text: "Some text. \u65e5\u672c A text box. An outline. The second slide. A note.", Metas: legacy,
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			tt.want.Links = []extract.Link{{Href: content.Link}}
			if tt.format == RTF {
				tt.want.Links[0].Href = plain.Link
			}
			got, err := Read(t.Context(), tt.format, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWords: what of a word processor's elements is text, and what is not.
func TestWords(t *testing.T) {
	run := func(s string) string { return `<w:r>` + s + `</w:r>` }
	tests := []struct{ name, body, text, link string }{
		{"runs of one word", `<w:p>` + run(`<w:t>Har</w:t>`) + run(`<w:t>bour</w:t>`) + `</w:p>`, "Harbour", ""},
		{"paragraphs and cells", `<w:p>` + run(`<w:t>a</w:t>`) + `</w:p><w:tbl><w:tr><w:tc><w:p>` + run(`<w:t>b</w:t>`) + `</w:p></w:tc></w:tr></w:tbl>`, "a b", ""},
		{"breaks", run(`<w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t>`), "a b c-d", ""},
		{"deleted", `<w:del>` + run(`<w:delText>gone</w:delText><w:t>gone</w:t>`) + `</w:del><w:moveFrom>` + run(`<w:t>gone</w:t>`) + `</w:moveFrom>` + run(`<w:t>here</w:t>`), "here", ""},
		{"a choice is said once", `<mc:AlternateContent><mc:Choice>` + run(`<w:t>box</w:t>`) + `</mc:Choice><mc:Fallback>` + run(`<w:t>box</w:t>`) + `</mc:Fallback></mc:AlternateContent>`, "box", ""},
		{"a field in parts", run(`<w:fldChar w:fldCharType="begin"/>`) + run(`<w:instrText> HYPERLINK "http://h/</w:instrText>`) + run(`<w:instrText>x" \o "tip" </w:instrText>`) +
			run(`<w:fldChar w:fldCharType="separate"/>`) + run(`<w:t>seen</w:t>`) + run(`<w:fldChar w:fldCharType="end"/>`), "seen", "http://h/x"},
		{"a simple field", `<w:fldSimple w:instr="HYPERLINK http://h/y \t x">` + run(`<w:t>seen</w:t>`) + `</w:fldSimple>`, "seen", "http://h/y"},
		{"a bookmark is no link", `<w:fldSimple w:instr="HYPERLINK \l &quot;top&quot;">` + run(`<w:t>seen</w:t>`) + `</w:fldSimple>`, "seen", ""},
		{"references", run(`<w:t>&lt;a&gt; &amp; &#252;&#x2014;</w:t>`), "<a> & \u00fc\u2014", ""},
		{"white space and NUL", run("<w:t xml:space=\"preserve\">  a \n\t b\u00a0c </w:t>"), "a b c", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(t.Context(), DOCX, testdocs.DOCX(content, tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.TrimSuffix(got.Text, " A footnote."); text != tt.text {
				t.Errorf("text %q, want %q", text, tt.text)
			}
			var links []string
			for _, l := range got.Links[1:] { // the first is that of the relations
				links = append(links, l.Href)
			}
			if strings.Join(links, " ") != tt.link {
				t.Errorf("links %q, want %q", links, tt.link)
			}
		})
	}
}

// archive makes a docx of a main part and others.
func archiveOf(main string, more ...testdocs.Part) []byte {
	return testdocs.Zip(append([]testdocs.Part{{Name: "word/document.xml", Body: main}}, more...)...)
}

const paragraph = `<w:p><w:r><w:t>before</w:t></w:r></w:p>`

func TestHostile(t *testing.T) {
	bomb := strings.Repeat(`<w:p><w:r><w:t>`+strings.Repeat(" ", 1000)+`</w:t></w:r></w:p>`, 70_000) // 70 MB, packed to 200 KB: more than maxUnpacked
	laughs := `<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>`
	nested := testdocs.Zip(testdocs.Part{Name: "0.zip", Body: string(testdocs.Zip(testdocs.Part{Name: "1.zip", Body: strings.Repeat("\x00", 10<<20)}))})
	tests := []struct {
		name string
		body []byte
		text string // "" where an error is wanted
		is   error  // that it must be, if not nil
	}{
		{"empty", nil, "", nil},
		{"no archive", []byte("PK\x03\x04"), "", nil},
		{"an archive of something else", testdocs.Zip(testdocs.Part{Name: "a.txt", Body: "x"}), "", errNoPart},
		{"nested archives", nested, "", errNoPart},
		{"a bomb", archiveOf(`<d>` + bomb + `</d>`), "", extract.ErrTooLarge},
		{"many bombs", archiveOf(`<d>`+paragraph+`</d>`, bombs(bomb[:20_000_000])...), "before", nil},
		{"laughs", archiveOf(laughs + `<d>` + paragraph + `<w:t>&b;</w:t></d>`), "before", nil},
		{"an entity that is a file", archiveOf(`<!DOCTYPE d [<!ENTITY f SYSTEM "file:///etc/passwd">]><d><w:t>&f;</w:t></d>`), "", nil},
		{"broken off", archiveOf(`<d>` + paragraph + `<w:p`), "before", nil},
		{"nested deeply", archiveOf(`<d>` + paragraph + strings.Repeat("<w:r>", 500_000)), "before", nil},
		{"more ends than starts", archiveOf(`</a></b>` + `<d>` + paragraph + `</d></d></d>`), "before", nil},
		{"names outside of it", testdocs.Zip(
			testdocs.Part{Name: "../../../etc/passwd", Body: "x"}, testdocs.Part{Name: "/word/Document.xml", Body: `<d>` + paragraph + `</d>`},
			testdocs.Part{Name: "word/_rels/document.xml.rels", Body: testdocs.Relationships([]string{"footnotes", "../../../../etc/passwd"})},
		), "before", nil},
		{"backslashes", testdocs.Zip(testdocs.Part{Name: `word\document.xml`, Body: `<d>` + paragraph + `</d>`}), "before", nil},
		{"a part that is its own footnote", archiveOf(`<d>`+paragraph+`</d>`,
			testdocs.Part{Name: "word/_rels/document.xml.rels", Body: testdocs.Relationships([]string{"footnotes", "document.xml"})}), "before before", nil},
		{"UTF-16", archiveOf(utf16LE(`<?xml version="1.0" encoding="UTF-16"?><d>` + paragraph + `</d>`)), "before", nil},
		{"Latin 1", archiveOf("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><d><w:t>caf\xe9</w:t></d>"), "caf\u00e9", nil},
		{"NUL", archiveOf("<d>" + paragraph + "<w:t>\x00</w:t></d>"), "before", nil},
		{"encrypted", append(bytes.Clone(compoundFile), utf16LE("EncryptedPackage")[2:]...), "", extract.ErrEncrypted},
		{"an old binary file", append(bytes.Clone(compoundFile), make([]byte, 512)...), "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(t.Context(), DOCX, tt.body)
			if (err != nil) != (tt.text == "") || got.Text != tt.text || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("text %q, %v; want %q, %v", got.Text, err, tt.text, tt.is)
			}
		})
	}
}

func bombs(body string) []testdocs.Part {
	var parts []testdocs.Part
	var rels [][]string
	for i := range 4 {
		name := fmt.Sprintf("header%d.xml", i)
		parts = append(parts, testdocs.Part{Name: "word/" + name, Body: `<d>` + body})
		rels = append(rels, []string{"header", name})
	}
	return append(parts, testdocs.Part{Name: "word/_rels/document.xml.rels", Body: testdocs.Relationships(rels...)})
}

func utf16LE(s string) string {
	b := []byte{0xff, 0xfe}
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return string(b)
}

// TestTruncatedMeta: a page that is not all of its document says so.
func TestTruncatedMeta(t *testing.T) {
	got, err := Read(t.Context(), DOCX, archiveOf(`<d>`+paragraph+`<`))
	if err != nil || !cmp.Equal(got.Metas, []extract.Meta{{Name: "truncated", Content: "true"}}) {
		t.Errorf("got %+v, %v", got.Metas, err)
	}
	long := testdocs.DOCX(content, `<w:p><w:t>`+strings.Repeat("word ", 4<<20)+`</w:t></w:p>`)
	got, err = Read(t.Context(), DOCX, long)
	if err != nil || len(got.Text) > 10<<20 || len(got.Text) < 10<<20-10 || got.Metas[len(got.Metas)-1].Name != "truncated" {
		t.Errorf("%d bytes of text, %v, %v", len(got.Text), got.Metas, err)
	}
}

func TestManyEntries(t *testing.T) {
	for n, want := range map[int]string{maxEntries - 1: "before", maxEntries: ""} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := range n {
			if _, err := w.Create(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := w.Create("word/document.xml")
		if err == nil {
			_, err = f.Write([]byte(`<d>` + paragraph + `</d>`))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(t.Context(), DOCX, b.Bytes()); got.Text != want || (err != nil) != (want == "") {
			t.Errorf("%d entries: %q, %v", n+1, got.Text, err)
		}
	}
}

func TestODFEncrypted(t *testing.T) {
	body := testdocs.Zip(testdocs.Part{Name: "content.xml", Body: "\x01\x02"},
		testdocs.Part{Name: "META-INF/manifest.xml", Body: `<m:manifest><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>`})
	if _, err := Read(t.Context(), ODT, body); !errors.Is(err, extract.ErrEncrypted) {
		t.Errorf("got %v", err)
	}
}

// TestContext: when its time ends, a reader gives what it has.
func TestContext(t *testing.T) {
	long := `<d>` + paragraph + strings.Repeat(`<w:p><w:r/></w:p>`, 1_000_000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := Read(ctx, DOCX, archiveOf(long))
	if err != nil || got.Text != "before" {
		t.Errorf("got %q, %v", got.Text, err)
	}
	got, err = Read(ctx, RTF, []byte(`{\rtf1 before `+strings.Repeat(`\par `, 100_000)+`after}`))
	if err != nil || got.Text != "before" {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

// TestEveryPrefix cuts small files at each byte: there is a page or an error, never a panic.
func TestEveryPrefix(t *testing.T) {
	for format, whole := range map[Format][]byte{
		DOCX: testdocs.DOCX(content), XLSX: testdocs.XLSX(content), PPTX: testdocs.PPTX(content), ODS: testdocs.ODF("spreadsheet", content), RTF: testdocs.RTF(content),
	} {
		want, err := Read(t.Context(), format, whole)
		if err != nil {
			t.Fatal(err)
		}
		for n := range whole {
			got, err := Read(t.Context(), format, whole[:n])
			if err == nil && !strings.HasPrefix(want.Text, got.Text) {
				t.Fatalf("%s cut at %d: %q is no beginning of %q", format, n, got.Text, want.Text)
			}
		}
	}
}

func FuzzPackage(f *testing.F) {
	formats := []Format{DOCX, XLSX, PPTX, ODT}
	for i, body := range [][]byte{testdocs.DOCX(content), testdocs.XLSX(content), testdocs.PPTX(content), testdocs.ODF("text", content)} {
		f.Add(uint8(i), body)
	}
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		checkPage(ctx, t, formats[int(n)%len(formats)], body)
	})
}

// FuzzParts changes parts inside of a good archive, which FuzzPackage seldom reaches.
func FuzzParts(f *testing.F) {
	f.Add(uint8(0), `<d>`+paragraph+`</d>`, `<Relationships><Relationship Id="r1" Type="x/hyperlink" Target="http://h/" TargetMode="External"/></Relationships>`)
	f.Add(uint8(1), `<workbook><sheets><sheet name="s" r:id="r1"/></sheets></workbook>`, `<Relationships><Relationship Id="r1" Type="x/worksheet" Target="workbook.xml"/></Relationships>`)
	f.Add(uint8(2), `<p><sldId r:id="r1"/></p>`, `<Relationships><Relationship Id="r1" Type="x/slide" Target="/ppt/presentation.xml"/></Relationships>`)
	f.Add(uint8(3), `<o><text:p>a<text:s/>b</text:p></o>`, "")
	mains := []struct {
		format    Format
		dir, base string
	}{{DOCX, "word/", "document.xml"}, {XLSX, "xl/", "workbook.xml"}, {PPTX, "ppt/", "presentation.xml"}, {ODT, "", "content.xml"}}
	f.Fuzz(func(t *testing.T, n uint8, main, rels string) {
		m := mains[int(n)%len(mains)]
		checkPage(t.Context(), t, m.format, testdocs.Zip(
			testdocs.Part{Name: m.dir + m.base, Body: main}, testdocs.Part{Name: m.dir + "_rels/" + m.base + ".rels", Body: rels},
			testdocs.Part{Name: "meta.xml", Body: main}, testdocs.Part{Name: "xl/sharedStrings.xml", Body: main}))
	})
}

func FuzzRTF(f *testing.F) {
	f.Add(testdocs.RTF(content))
	f.Add([]byte(`{\rtf1\ansicpg932{\fonttbl{\f1\fcharset204 A;}}\f1\'c0\u1040?\uc2\u-10179 ab\u-8704 ab{\v hidden}\bin3 abc{\*\x y}}`))
	f.Fuzz(func(t *testing.T, body []byte) { checkPage(t.Context(), t, RTF, append([]byte(`{\rtf`), body...)) })
}
