// Package extract reads links, text and metas out of a body.
package extract

import "time"

// Page is the content of an HTML page. Nothing in it aliases the body.
type Page struct {
	Title     string // of the head; the caller has fallbacks
	Text      string // visible, white space collapsed
	Language  string // declared
	Charset   string // the body's original charset
	Base      string // href of the first base element, "" if none
	Metas     []Meta // name and property metas, names in lower case, in page order
	Links     []Link // in page order, hrefs as written, white space trimmed
	LinksCut  bool   // there were more links than the limit
	Canonical string // href of link rel=canonical, as written
	// Robots are the contents of metas named robots and of the crawler's own name.
	Robots Directives
	// Password is set if the page has an input of type password.
	Password bool
	// Shell is set if the page is an application shell: only its scripts fill it.
	Shell bool
	// Refresh is the target of a meta refresh, as written, RefreshAfter its seconds.
	Refresh      string
	RefreshAfter int
	// Content is the page without the parts that Options.Removal and noindex regions remove from its text, with spaces
	// for removed breaks between words; nil if nothing was removed, or KeepContent is not set.
	Content []byte
	// ContentCharset is the charset of Content: Charset, or utf-8 if the body had to be decoded.
	ContentCharset string
	// Converter is the external program that read the body, "" if none did.
	Converter string
}

// Meta is one meta of a page.
type Meta struct{ Name, Content string }

// Link is a reference found in a page.
type Link struct {
	Href     string
	NoFollow bool // rel=nofollow
}

// Directives are those of robots metas and X-Robots-Tag. The zero value forbids nothing.
type Directives struct {
	NoIndex, NoFollow, NoSnippet, NoArchive bool
	// UnavailableAfter is a date as written, "" if there is none; UnavailableAt is its time, in UTC, zero if it cannot
	// be parsed: then it has no effect.
	UnavailableAfter string
	UnavailableAt    time.Time
}
