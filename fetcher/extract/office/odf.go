package office

import (
	"encoding/xml"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// readODF reads a text, spreadsheet or presentation of OpenDocument.
func readODF(a *archive, b *extract.Builder) error {
	var manifest encryption
	if a.walk("META-INF/manifest.xml", &manifest) == nil && manifest.found {
		return extract.ErrEncrypted
	}
	p := readProperties(a, map[string]string{
		"title": "title", "initial-creator": "author", "creator": "writer", "subject": "subject", "description": "description",
		"keyword": "keywords", "language": "language", "creation-date": "created", "date": "modified",
	}, "meta.xml")
	if p.first("author") == "" {
		p.values["author"] = p.values["writer"]
	}
	p.addTo(b)
	var statistics statistics
	_ = a.walk("meta.xml", &statistics) // as for properties
	b.Meta("pages", statistics.pages)
	return a.walk("content.xml", &paragraphs{b: b})
}

// encryption records whether a manifest declares an encrypted part.
type encryption struct{ found bool }

func (e *encryption) start(s *xml.StartElement) bool {
	e.found = e.found || s.Name.Local == "encryption-data"
	return false
}

func (*encryption) end(string)  {}
func (*encryption) text([]byte) {}

// statistics reads the page count that the writer stored.
type statistics struct{ pages string }

func (s *statistics) start(e *xml.StartElement) bool {
	if e.Name.Local == "document-statistic" {
		s.pages = attribute(e, "page-count")
	}
	return false
}

func (*statistics) end(string)  {}
func (*statistics) text([]byte) {}

// paragraphs extracts the text of a content part: all text in paragraphs and headings, but not tracked changes, scripts
// or embedded files.
type paragraphs struct {
	b    *extract.Builder
	open int // nested paragraphs
}

func (p *paragraphs) start(e *xml.StartElement) bool {
	switch e.Name.Local {
	case "tracked-changes", "binary-data", "scripts", "automatic-styles", "font-face-decls":
		return true
	case "p", "h":
		p.open++
		p.b.Break()
	case "s", "tab", "line-break":
		p.b.Break()
	case "a":
		if href := attribute(e, "href"); !strings.HasPrefix(href, "#") {
			p.b.Link(href)
		}
	}
	return false
}

func (p *paragraphs) end(name string) {
	switch name {
	case "p", "h":
		p.open = max(p.open-1, 0)
		p.b.Break()
	case "table-cell":
		p.b.Break()
	}
}

func (p *paragraphs) text(t []byte) {
	if p.open > 0 {
		p.b.Write(t)
	}
}
