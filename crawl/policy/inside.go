package policy

import (
	"context"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/weburl"
)

// Inside selects the Fields of pages that become documents. A page that matches none of its conditions costs nothing.
type Inside struct {
	Fields []Field
	// Main selects the pages whose text is their main content; a nil element selects all.
	Main []func(weburl.URL) bool
	// Chunks divide the content of pages; the first that matches applies.
	Chunks []Chunks
}

// Chunks divides the content of pages into parts of at most Words words.
type Chunks struct {
	Match func(weburl.URL) bool // nil selects all
	Words int
}

// ChunkWords returns the size of a page's chunks, 0 for none.
func (in *Inside) ChunkWords(u weburl.URL) int {
	for i := range in.Chunks {
		if c := &in.Chunks[i]; c.Match == nil || c.Match(u) {
			return c.Words
		}
	}
	return 0
}

// WantsKept reports whether the part of a page outside removed elements and noindex regions is needed: for its main
// content, its chunks, or its content in another form.
func (in *Inside) WantsKept(u weburl.URL) bool {
	return in.WantsMain(u) || in != nil && (in.ChunkWords(u) > 0 || slices.ContainsFunc(in.Fields, func(f Field) bool {
		return f.Kind == tree.Content && f.Matches(u)
	}))
}

// WantsMain reports whether a document's text is limited to the page's main content.
func (in *Inside) WantsMain(u weburl.URL) bool {
	return in != nil && slices.ContainsFunc(in.Main, func(match func(weburl.URL) bool) bool { return match == nil || match(u) })
}

// fieldsOf returns the Fields that apply to a page.
func (in *Inside) fieldsOf(u weburl.URL) (fields []Field) {
	if in == nil {
		return nil
	}
	for i := range in.Fields {
		if in.Fields[i].Matches(u) {
			fields = append(fields, in.Fields[i])
		}
	}
	return fields
}

// Field is a value of pages that becomes a meta of their documents.
type Field struct {
	// Name of the meta. Of several Fields with one name that match a URL, the first that finds a value counts.
	Name string
	// Match selects the pages to search; nil selects all.
	Match func(weburl.URL) bool
	// Selector is the attribute's text; Kind and Key are its parts.
	Selector string
	Kind     tree.Kind
	Key      string
	// Attribute is the attribute whose value is extracted; "" extracts the text.
	Attribute string
	Multiple  bool
	// Split is the separator at which each value is divided; "" for none.
	Split string
	// MaxBytes limits the length of a content.
	MaxBytes int
}

// Matches reports whether the Field applies to a page.
func (f *Field) Matches(u weburl.URL) bool { return f.Match == nil || f.Match(u) }

// IsAddress reports whether the values are addresses, which are taken relative to the page's own.
func (f *Field) IsAddress() bool {
	switch strings.ToLower(f.Attribute) {
	case "href", "src":
		return true
	case "":
		return f.Kind == tree.XPath && (strings.HasSuffix(f.Key, "/@href") || strings.HasSuffix(f.Key, "/@src"))
	}
	return false
}

// PageSearcher extracts content from pages in separate processes. Errors and concurrency are as for DocumentReader.
type PageSearcher interface {
	Search(ctx context.Context, o *tree.Order, body []byte) (tree.Found, error)
}
