package office

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
)

const (
	diagram = `<dgm:dataModel><dgm:pt><dgm:t><a:bodyPr/><a:p><a:r><a:t>President</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>`
	series  = `<c:ser><c:tx><c:strRef><c:f>S!$B$1</c:f><c:strCache><c:pt><c:v>NAME</c:v></c:pt></c:strCache></c:strRef></c:tx>` +
		`<c:cat><c:strRef><c:strCache><c:pt><c:v>north</c:v></c:pt><c:pt><c:v>south</c:v></c:pt></c:strCache></c:strRef></c:cat>` +
		`<c:val><c:numRef><c:numCache><c:pt><c:v>4711</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>`
	chart = `<c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Peaches</a:t></a:r></a:p></c:rich></c:tx></c:title>` + series + series + `</c:chart>`
	box   = `<xdr:wsDr><xdr:from><xdr:col>6</xdr:col></xdr:from><xdr:sp><xdr:txBody><a:p><a:r><a:t>In a</a:t></a:r><a:r><a:t> box</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:wsDr>`
)

// packageOf makes a package of a main part, with one part that is related to the part of a name.
func packageOf(main, body, of string, more ...testdocs.Part) []byte {
	dir, name := of[:strings.LastIndex(of, "/")+1], of[strings.LastIndex(of, "/")+1:]
	var related [][]string
	for _, part := range more {
		kind, _, _ := strings.Cut(part.Name, "/")
		related = append(related, []string{kind, "/" + part.Name})
	}
	return testdocs.Zip(append(more, testdocs.Part{Name: main, Body: body},
		testdocs.Part{Name: dir + "_rels/" + name + ".rels", Body: testdocs.Relationships(related...)})...)
}

// TestDrawings: SmartArt, charts and text boxes are text, the numbers of a chart are not, and its
// categories are read once.
func TestDrawings(t *testing.T) {
	const charted = "Peaches NAME north south NAME"
	drawings := []testdocs.Part{{Name: "diagramData/1.xml", Body: diagram}, {Name: "chart/1.xml", Body: chart}}
	docx := packageOf("word/document.xml", `<d>`+paragraph+`</d>`, "word/document.xml", drawings...)
	pptx := testdocs.Zip(
		testdocs.Part{Name: "ppt/presentation.xml", Body: `<p:sldId r:id="r1"/>`},
		testdocs.Part{Name: "ppt/_rels/presentation.xml.rels", Body: testdocs.Relationships([]string{"slide", "slides/1.xml"})},
		testdocs.Part{Name: "ppt/slides/1.xml", Body: `<a:p><a:t>before</a:t></a:p>`},
		testdocs.Part{Name: "ppt/slides/_rels/1.xml.rels", Body: testdocs.Relationships([]string{"diagramData", "d.xml"}, []string{"chart", "c.xml"})},
		testdocs.Part{Name: "ppt/slides/d.xml", Body: diagram}, testdocs.Part{Name: "ppt/slides/c.xml", Body: chart},
	)
	sheet := sheetOf(`<c><v>1</v></c>`,
		testdocs.Part{Name: "xl/worksheets/_rels/1.xml.rels", Body: testdocs.Relationships([]string{"drawing", "../drawings/1.xml"})},
		testdocs.Part{Name: "xl/drawings/1.xml", Body: box},
		testdocs.Part{Name: "xl/drawings/_rels/1.xml.rels", Body: testdocs.Relationships([]string{"diagramData", "d.xml"}, []string{"chart", "c.xml"})},
		testdocs.Part{Name: "xl/drawings/d.xml", Body: diagram}, testdocs.Part{Name: "xl/drawings/c.xml", Body: chart},
	)
	for format, tt := range map[Format]struct {
		body []byte
		text string
	}{
		DOCX: {docx, "before President " + charted},
		PPTX: {pptx, "before President " + charted},
		XLSX: {sheet, "Sheet 1 In a box President " + charted},
	} {
		if p, err := Read(t.Context(), format, tt.body); err != nil || p.Text != tt.text {
			t.Errorf("%s: %q, %v; want %q", format, p.Text, err, tt.text)
		}
	}
}

// TestChunks: a document may be put together from parts in other formats.
func TestChunks(t *testing.T) {
	archive := func(encoding, page string) string {
		return "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=\"--=_b\"\r\n\r\nfor old readers\r\n" +
			"----=_b\r\nContent-Type: image/png\r\n\r\n<p>no page\r\n" +
			"----=_b\r\nContent-Type: text/html; charset=windows-1252\r\nContent-Transfer-Encoding: " + encoding + "\r\n\r\n" + page + "\r\n----=_b--\r\n"
	}
	for name, tt := range map[string]struct{ body, text string }{
		"html":             {`<style>p{}</style><p>a <a href="http://h/">chunk</a></p>`, "before a chunk"},
		"RTF":              {`{\rtf1 a chunk}`, "before a chunk"},
		"quoted-printable": {archive("quoted-printable", "<p class=3D\"x\">a chu=\r\nnk =E9"), "before a chunk \u00e9"},
		"base64":           {archive("base64", "PHA+YSBjaHVuaw=="), "before a chunk"},
		"no page in it":    {"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b--\r\n", "before"},
		"a document":       {string(testdocs.DOCX(content)), "before"},
	} {
		body := packageOf("word/document.xml", `<d>`+paragraph+`</d>`, "word/document.xml", testdocs.Part{Name: "aFChunk/1", Body: tt.body})
		if p, err := Read(t.Context(), DOCX, body); err != nil || p.Text != tt.text {
			t.Errorf("%s: %q, %v; want %q", name, p.Text, err, tt.text)
		}
	}
}

// sheetOf makes a workbook of one sheet with a row of cells.
func sheetOf(cells string, more ...testdocs.Part) []byte {
	return testdocs.Zip(append([]testdocs.Part{
		{Name: "xl/workbook.xml", Body: `<workbook><workbookPr date1904="0"/><sheets><sheet name="Sheet" r:id="r1"/></sheets></workbook>`},
		{Name: "xl/_rels/workbook.xml.rels", Body: testdocs.Relationships([]string{"worksheet", "worksheets/1.xml"}, []string{"styles", "styles.xml"})},
		{Name: "xl/worksheets/1.xml", Body: `<worksheet><row>` + cells + `</row></worksheet>`},
	}, more...)...)
}
