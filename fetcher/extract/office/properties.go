package office

import (
	"encoding/xml"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// maxProperty is the maximum length of a property, in bytes; the rest is cut off.
const maxProperty = 64 << 10

// properties collects the text of each element with a name in names.
type properties struct {
	names  map[string]string // by element: the property's name; several elements may share one
	values map[string][]string
	open   string
	b      strings.Builder
}

func (p *properties) start(e *xml.StartElement) bool {
	if name := p.names[e.Name.Local]; name != "" && p.open == "" {
		p.open = name
		p.b.Reset()
	}
	return false
}

func (p *properties) end(name string) {
	if p.open != "" && p.names[name] == p.open {
		if v := strings.TrimSpace(p.b.String()); v != "" && len(p.values[p.open]) < 100 {
			p.values[p.open] = append(p.values[p.open], v)
		}
		p.open = ""
	}
}

func (p *properties) text(t []byte) {
	if p.open != "" && p.b.Len() < maxProperty {
		p.b.Write(t)
	}
}

func (p *properties) first(name string) string {
	if v := p.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// readProperties reads parts of properties; each may be missing or damaged.
func readProperties(a *archive, names map[string]string, parts ...string) *properties {
	p := &properties{names: names, values: map[string][]string{}}
	for _, part := range parts {
		_ = a.walk(part, p) // properties are optional
		p.open = ""
	}
	return p
}

// addTo adds the properties to a page.
func (p *properties) addTo(b *extract.Builder) {
	b.Title(p.first("title"))
	b.Language(p.first("language"))
	for _, name := range []string{"author", "subject", "description", "pages"} {
		b.Meta(name, p.first(name))
	}
	b.Meta("keywords", strings.Join(p.values["keywords"], ", "))
	for _, name := range []string{"created", "modified"} {
		b.Time(name, parseTime(p.first(name)))
	}
}

// parseTime parses the forms of W3CDTF and ISO 8601 that office programs write. The default zone is UTC.
func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}

// officeProperties reads the parts docProps/core.xml and docProps/app.xml.
func officeProperties(a *archive, b *extract.Builder) {
	readProperties(a, map[string]string{
		"title": "title", "creator": "author", "subject": "subject", "description": "description",
		"keywords": "keywords", "language": "language", "created": "created", "modified": "modified",
		"Pages": "pages", "Slides": "pages",
	}, "docProps/core.xml", "docProps/app.xml").addTo(b)
}
