package extract

import (
	"errors"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/weburl"
)

// What a reader of documents may end with, beside a page. Any other error says
// that the document is damaged or is none of its kind.
var (
	// ErrEncrypted says that a document asks for a password.
	ErrEncrypted = errors.New("it asks for a password")
	// ErrTooLarge says that a document unpacks to more than is read of one.
	ErrTooLarge = errors.New("it is too large when it is unpacked")
)

const (
	// maxDocumentText is how much text is taken out of a document, in bytes, and
	// maxDocumentLinks that of its links.
	maxDocumentText  = 10 << 20
	maxDocumentLinks = 8 << 20
)

// Builder puts together the page of a document that is no HTML. It keeps the limits
// that HTML keeps; what is over them is left out, and a text that was cut gives the
// page the meta truncated. The zero value is an empty page.
type Builder struct {
	page  Page
	text  collapsed
	links int // bytes
	cut   bool
}

// Write adds text to what was written before: without a break in between, it is
// the same word. White space is collapsed.
func (b *Builder) Write(text []byte) {
	if !b.text.write(text, maxDocumentText) {
		b.cut = true
	}
}

// Break makes sure that what follows is another word.
func (b *Builder) Break() { b.text.gap = true }

// Full says that no more text is taken.
func (b *Builder) Full() bool { return len(b.text.b)+1+utf8.UTFMax > maxDocumentText }

// Cut notes that there is more in the document than in the page.
func (b *Builder) Cut() { b.cut = true }

// HasText says that there is text in the page.
func (b *Builder) HasText() bool { return len(b.text.b) > 0 }

// Title sets the title, if it has none yet.
func (b *Builder) Title(title string) {
	if b.page.Title == "" {
		b.page.Title = collapsedString(title, maxTitle)
	}
}

// Language sets the language, if it has none yet.
func (b *Builder) Language(tag string) {
	if b.page.Language == "" {
		b.page.Language = collapsedString(tag, maxLanguage)
	}
}

// Meta adds a meta that is not empty.
func (b *Builder) Meta(name, content string) {
	if content = collapsedString(content, maxMetaContent); content != "" && len(b.page.Metas) < maxMetas {
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
	var c collapsed
	whole := c.write([]byte(href), weburl.MaxLength)
	if !whole || len(c.b) == 0 || len(b.page.Links) >= maxLinks || b.links > maxDocumentLinks {
		return
	}
	b.links += len(c.b)
	b.page.Links = append(b.page.Links, Link{Href: string(c.b)})
}

// Page gives what was put together.
func (b *Builder) Page() Page {
	p := b.page
	p.Text = string(b.text.b)
	if b.cut {
		p.Metas = append(p.Metas[:len(p.Metas):len(p.Metas)], Meta{Name: "truncated", Content: "true"})
	}
	return p
}

// collapsed is text with white space collapsed to single spaces and none at its ends.
// Control characters are white space, and bytes that are no UTF-8 become U+FFFD.
type collapsed struct {
	b   []byte
	gap bool // what follows is another word
}

// write adds text up to a limit in bytes; with false, some was left out.
func (c *collapsed) write(text []byte, limit int) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r == '\u00ad' || r == '\ufeff': // soft hyphen, byte order mark
			continue
		case r <= ' ' || unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u200b':
			c.gap = true
			continue
		}
		if len(c.b)+1+utf8.UTFMax > limit {
			return false
		}
		if c.gap && len(c.b) > 0 {
			c.b = append(c.b, ' ')
		}
		c.gap = false
		c.b = utf8.AppendRune(c.b, r)
	}
	return true
}

func collapsedString(s string, limit int) string {
	var c collapsed
	c.write([]byte(s), limit)
	return string(c.b)
}
