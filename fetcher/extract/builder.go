package extract

import (
	"errors"
	"time"
	"unicode/utf8"
)

// Errors that a reader of documents may return beside a page. Any other error means that the document is damaged or not
// of its kind.
var (
	// ErrEncrypted reports that a document requires a password.
	ErrEncrypted = errors.New("it requires a password")
	// ErrTooLarge reports that a document unpacks to more than the limit.
	ErrTooLarge = errors.New("it is too large after decompression")
)

const (
	// maxDocumentText bounds the text of a document, in bytes, and maxDocumentLinks that of its links.
	maxDocumentText  = 10 << 20
	maxDocumentLinks = 8 << 20
	// writtenAtOnce is the number of bytes written between checks of the text's limit.
	writtenAtOnce = 64 << 10
)

// Builder builds the page of a document that is not HTML. It has the limits of HTML; content beyond them is dropped,
// and a cut text gives the page the meta truncated. The zero value is an empty page.
type Builder struct {
	page  Page
	text  textWriter
	links int // bytes
	cut   bool
}

// Write appends text; without a Break in between, it continues the same word. White space is collapsed.
func (b *Builder) Write(text []byte) {
	b.text.limit = maxDocumentText
	for i := 0; i < len(text) && !b.text.cut; { // in pieces, so that little more than the limit is processed
		end := min(i+writtenAtOnce, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		b.text.writePart(text, i, end, noReferences)
		i = end
	}
}

// Break separates the following text from the last word.
func (b *Builder) Break() { b.text.separate() }

// Full reports whether no more text is accepted.
func (b *Builder) Full() bool { return b.text.cut || len(b.text.b) >= maxDocumentText }

// Cut records that the document has more content than the page.
func (b *Builder) Cut() { b.cut = true }

// HasText reports whether there is text in the page.
func (b *Builder) HasText() bool { return len(b.text.b) > 0 }

// Title sets the title, if it has none yet.
func (b *Builder) Title(title string) {
	if b.page.Title == "" {
		b.page.Title = collapse([]byte(title), maxTitle)
	}
}

// Language sets the language, if it has none yet.
func (b *Builder) Language(tag string) {
	if b.page.Language == "" {
		b.page.Language = collapse([]byte(tag), maxLanguage)
	}
}

// Meta adds a meta that is not empty.
func (b *Builder) Meta(name, content string) {
	if content = collapse([]byte(content), maxMetaContent); content != "" && len(b.page.Metas) < maxMetas {
		b.page.Metas = append(b.page.Metas, Meta{Name: name, Content: content})
	}
}

// Time adds a time as a meta in the form of RFC 3339, unless it is zero.
func (b *Builder) Time(name string, t time.Time) {
	if !t.IsZero() && t.Year() > 0 && t.Year() < 10_000 {
		b.Meta(name, t.UTC().Format(time.RFC3339))
	}
}

// Link adds a link, as written.
func (b *Builder) Link(href string) {
	href = reference([]byte(href))
	if href == "" {
		return
	}
	if b.page.LinksCut = len(b.page.Links) >= maxLinks || b.links > maxDocumentLinks; b.page.LinksCut {
		return
	}
	b.links += len(href)
	b.page.Links = append(b.page.Links, Link{Href: href})
}

// Page returns the page.
func (b *Builder) Page() Page {
	p := b.page
	p.Text = b.text.String()
	if b.cut || b.text.cut {
		p.Metas = append(p.Metas[:len(p.Metas):len(p.Metas)], Meta{Name: "truncated", Content: "true"})
	}
	return p
}
