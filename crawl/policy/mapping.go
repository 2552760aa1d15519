package policy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// Mapping maps metas of pages to metas of their documents (Smartsite, "Metadata mapping"). Metas from rules, roots and
// the crawl itself are not mapped.
type Mapping struct {
	// KeepUnmapped lets metas pass that no Map names.
	KeepUnmapped bool
	Maps         []Map
}

// Map maps the values of one meta or header field. Several may have the same From, each with a copy, or the same To,
// which gets all values.
type Map struct {
	// From is the name of a meta, in lower case. If it is empty, Header names a response header.
	From, Header string
	// To is the name in the document; empty drops the meta.
	To string
	// Join, if not empty, separates values that are joined into one.
	Join string
	// Default, if not empty, is used for a name without values.
	Default string
}

// Apply maps the metas of a page that was answered with a header.
func (m *Mapping) Apply(metas []extract.Meta, header http.Header) []extract.Meta {
	if m == nil {
		return metas
	}
	var out []extract.Meta
	for _, meta := range metas {
		if (m.KeepUnmapped || isKnown(meta.Name)) && !m.names(meta.Name) {
			out = append(out, meta)
		}
	}
	if !m.KeepUnmapped {
		out = m.fill(out, metas)
	}
	for i := range m.Maps {
		by := &m.Maps[i]
		if by.To == "" {
			continue
		}
		for _, value := range by.values(metas, header) {
			out = append(out, extract.Meta{Name: by.To, Content: value})
		}
	}
	return out
}

// names reports whether a Map applies to a meta.
func (m *Mapping) names(meta string) bool {
	return slices.ContainsFunc(m.Maps, func(by Map) bool { return by.From == meta })
}

// known are the fields of a document that metas fill which are known to mean them, whether
// a Map names them or not, with other names of the same: the first that a page has counts.
// It is constant.
var known = []struct {
	field  string
	others []string
}{
	{"description", []string{"dcterms.description", "dc.description", "og:description"}},
	{"author", []string{"dcterms.creator", "dc.creator", "article:author"}},
	{"date", []string{"dcterms.date", "dc.date", "article:published_time", "dcterms.issued", "dcterms.created"}},
	{"keywords", nil},
	// What readers of documents say.
	{"subject", nil}, {"created", nil}, {"modified", nil}, {"pages", nil},
	{"truncated", nil}, {"extraction_error", nil},
}

func isKnown(name string) bool {
	for i := range known {
		if known[i].field == name {
			return true
		}
	}
	return false
}

// fill adds the known fields that a page has under another name only.
func (m *Mapping) fill(out, metas []extract.Meta) []extract.Meta {
	has := func(list []extract.Meta, name string) int {
		return slices.IndexFunc(list, func(meta extract.Meta) bool { return meta.Name == name && meta.Content != "" })
	}
	for i := range known {
		if k := &known[i]; has(metas, k.field) < 0 {
			for _, other := range k.others {
				if at := has(metas, other); at >= 0 && !m.names(other) {
					out = append(out, extract.Meta{Name: k.field, Content: metas[at].Content})
					break
				}
			}
		}
	}
	return out
}

// values returns the values that a Map produces for a page.
func (m *Map) values(metas []extract.Meta, header http.Header) []string {
	var values []string
	add := func(value string) {
		if value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	if m.From == "" {
		for _, value := range header.Values(m.Header) {
			add(strings.ToValidUTF8(strings.TrimSpace(value), "\uFFFD"))
		}
	} else {
		for _, meta := range metas {
			if meta.Name == m.From {
				add(meta.Content)
			}
		}
	}
	if len(values) == 0 && m.Default != "" {
		return []string{m.Default}
	}
	if m.Join != "" && len(values) > 1 {
		return []string{strings.Join(values, m.Join)}
	}
	return values
}
