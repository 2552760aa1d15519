// Package testdocs makes documents for tests: one small file of each kind that is
// read, by its format's own rules, and parts to build odd ones from.
package testdocs

import (
	"archive/zip"
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Content is what a document says.
type Content struct {
	Title, Author, Text, Link string
}

// All has a document with this content by each extension: pdf, docx, xlsx, pptx, odt,
// ods, odp, rtf, doc, xls and ppt.
func All(c Content) map[string][]byte {
	return map[string][]byte{
		"pdf": PDF(PDFFile{Content: c, Pages: []string{c.Text}}), "docx": DOCX(c), "xlsx": XLSX(c), "pptx": PPTX(c),
		"odt": ODF("text", c), "ods": ODF("spreadsheet", c), "odp": ODF("presentation", c), "rtf": RTF(c),
		"doc": DOC(c), "xls": XLS(c), "ppt": PPT(c),
	}
}

// Part is one of an archive.
type Part struct{ Name, Body string }

// Zip makes an archive of parts, deflated; a part named mimetype is stored, as
// OpenDocument asks.
func Zip(parts ...Part) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, p := range parts {
		h := &zip.FileHeader{Name: p.Name, Method: zip.Deflate}
		if p.Name == "mimetype" {
			h.Method = zip.Store
		}
		f, err := w.CreateHeader(h)
		must(err)
		_, err = f.Write([]byte(p.Body))
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err) // writing to memory
	}
}

const (
	xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	office  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)

// Relationships returns a part of relations; each is kind, target, and may be followed by
// External. Their ids are r1, r2 and so on.
func Relationships(all ...[]string) string {
	var b strings.Builder
	b.WriteString(xmlHead + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for i, r := range all {
		mode := ""
		if len(r) > 2 {
			mode = ` TargetMode="` + r[2] + `"`
		}
		fmt.Fprintf(&b, `<Relationship Id="r%d" Type="%s/%s" Target="%s"%s/>`, i+1, office, r[0], html.EscapeString(r[1]), mode)
	}
	return b.String() + `</Relationships>`
}

// Core returns the part of core properties.
func Core(c Content) Part {
	return Part{"docProps/core.xml", xmlHead + `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"` +
		` xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
		`<dc:title>` + html.EscapeString(c.Title) + `</dc:title><dc:subject>Harbours</dc:subject><dc:creator>` + html.EscapeString(c.Author) + `</dc:creator>` +
		`<cp:keywords>tide, quay</cp:keywords><dc:language>en-GB</dc:language>` +
		`<dcterms:created xsi:type="dcterms:W3CDTF">2026-01-02T03:04:05Z</dcterms:created>` +
		`<dcterms:modified xsi:type="dcterms:W3CDTF">2026-02-03T04:05:06Z</dcterms:modified></cp:coreProperties>`}
}

// DOCX returns a document of a word processor. Its body may be given in place of the
// content's text.
func DOCX(c Content, body ...string) []byte {
	text := `<w:p><w:r><w:t>` + html.EscapeString(c.Text) + `</w:t></w:r></w:p>`
	if len(body) > 0 {
		text = strings.Join(body, "")
	}
	return Zip(
		Part{"[Content_Types].xml", xmlHead + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`},
		Part{"_rels/.rels", Relationships([]string{"officeDocument", "word/document.xml"})},
		Part{"word/document.xml", xmlHead + `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"` +
			` xmlns:r="` + office + `"><w:body>` + text + `</w:body></w:document>`},
		Part{"word/_rels/document.xml.rels", Relationships([]string{"hyperlink", c.Link, "External"}, []string{"footnotes", "footnotes.xml"})},
		Part{"word/footnotes.xml", `<w:footnotes xmlns:w="x"><w:footnote><w:p><w:r><w:t>A footnote.</w:t></w:r></w:p></w:footnote></w:footnotes>`},
		Core(c),
	)
}

// XLSX returns a workbook with the text as a shared string in its one sheet.
func XLSX(c Content) []byte {
	return Zip(
		Part{"[Content_Types].xml", xmlHead + `<Types/>`},
		Part{"_rels/.rels", Relationships([]string{"officeDocument", "/xl/workbook.xml"})},
		Part{"xl/workbook.xml", `<workbook xmlns:r="` + office + `"><sheets><sheet name="Tides" sheetId="1" r:id="r1"/></sheets></workbook>`},
		Part{"xl/_rels/workbook.xml.rels", Relationships([]string{"worksheet", "worksheets/sheet1.xml"}, []string{"sharedStrings", "sharedStrings.xml"})},
		Part{"xl/sharedStrings.xml", `<sst><si><t>` + html.EscapeString(c.Text) + `</t></si><si><r><t>ri</t></r><r><t>ch</t></r></si></sst>`},
		Part{"xl/worksheets/sheet1.xml", `<worksheet><sheetData><row><c t="s"><v>0</v></c><c><v>42.5</v></c><c t="s"><v>1</v></c></row>` +
			`<row><c t="inlineStr"><is><t>inline</t></is></c><c t="b"><v>1</v></c><c t="e"><v>#REF!</v></c><c t="str"><f>A1</f><v>result</v></c></row></sheetData></worksheet>`},
		Part{"xl/worksheets/_rels/sheet1.xml.rels", Relationships([]string{"hyperlink", c.Link, "External"})},
		Core(c),
	)
}

// PPTX returns a presentation of two slides, the second made first.
func PPTX(c Content) []byte {
	slide := func(text string) string {
		return `<p:sld xmlns:p="p" xmlns:a="a"><p:txBody><a:p><a:r><a:t>` + html.EscapeString(text) + `</a:t></a:r></a:p></p:txBody></p:sld>`
	}
	return Zip(
		Part{"[Content_Types].xml", xmlHead + `<Types/>`},
		Part{"_rels/.rels", Relationships([]string{"officeDocument", "ppt/presentation.xml"})},
		Part{"ppt/presentation.xml", `<p:presentation xmlns:r="` + office + `"><p:sldIdLst><p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>`},
		Part{"ppt/_rels/presentation.xml.rels", Relationships([]string{"slide", "slides/slide1.xml"}, []string{"slide", "slides/slide2.xml"})},
		Part{"ppt/slides/slide1.xml", slide("The second slide.")},
		Part{"ppt/slides/slide2.xml", slide(c.Text)},
		Part{"ppt/slides/_rels/slide2.xml.rels", Relationships([]string{"hyperlink", c.Link, "External"}, []string{"notesSlide", "../notesSlides/notesSlide1.xml"})},
		Part{"ppt/notesSlides/notesSlide1.xml", slide("A note.")},
		Core(c),
	)
}

// ODF returns an OpenDocument file; kind is text, spreadsheet or presentation.
func ODF(kind string, c Content) []byte {
	text, link := html.EscapeString(c.Text), html.EscapeString(c.Link)
	body := `<text:p>` + text + `<text:s/><text:a xlink:href="` + link + `">more</text:a></text:p>`
	if kind == "spreadsheet" {
		body = `<table:table><table:table-row><table:table-cell>` + body + `</table:table-cell></table:table-row></table:table>`
	}
	return Zip(
		Part{"mimetype", "application/vnd.oasis.opendocument." + kind},
		Part{"content.xml", `<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="tb" xmlns:xlink="x"><office:body>` + body + `</office:body></office:document-content>`},
		Part{"meta.xml", `<office:document-meta xmlns:office="o" xmlns:dc="d" xmlns:meta="m"><office:meta><dc:title>` + html.EscapeString(c.Title) + `</dc:title>` +
			`<meta:initial-creator>` + html.EscapeString(c.Author) + `</meta:initial-creator><dc:creator>Another</dc:creator><dc:subject>Harbours</dc:subject>` +
			`<meta:keyword>tide</meta:keyword><meta:keyword>quay</meta:keyword><dc:language>en-GB</dc:language>` +
			`<meta:creation-date>2026-01-02T03:04:05.000000000</meta:creation-date><dc:date>2026-02-03T04:05:06</dc:date>` +
			`<meta:document-statistic meta:page-count="3"/></office:meta></office:document-meta>`},
		Part{"META-INF/manifest.xml", `<manifest:manifest xmlns:manifest="m"/>`},
	)
}

// RTF returns a file in Rich Text Format. The text must be ASCII.
func RTF(c Content) []byte {
	return []byte(`{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}}{\info{\title ` + c.Title + `}{\author ` + c.Author + `}` +
		`{\subject Harbours}{\keywords tide, quay}{\creatim\yr2026\mo1\dy2\hr3\min4\sec5}{\revtim\yr2026\mo2\dy3\hr4\min5\sec6}{\nofpages7}}` +
		"\n" + `\pard ` + c.Text + `\par {\field{\*\fldinst{HYPERLINK "` + c.Link + `"}}{\fldrslt more}}\par}`)
}
