// Package extract reads links, text and metas out of a body.
package extract

import "time"

// Page is what was read out of an HTML page. Nothing in it aliases the body.
type Page struct {
	Title     string // of the head; fallbacks are the caller's
	Text      string // visible, white space collapsed
	Language  string // declared
	Charset   string // that the body was decoded from
	Base      string // href of the first base element, "" if none
	Metas     []Meta // name and property metas, names in lower case, in page order
	Links     []Link // in page order, hrefs as written, white space trimmed
	LinksCut  bool   // there were more links than Links may have
	Canonical string // href of link rel=canonical, as written
	// Robots are the contents of metas named robots and of the crawler's own name.
	Robots Directives
	// Password says that the page asks for a password: it has an input of that type.
	Password bool
	// Shell says that the page is an application shell: only its scripts fill it.
	Shell bool
	// Refresh is the target of a meta refresh, as written, RefreshAfter its seconds.
	Refresh      string
	RefreshAfter int
	// Content is the page without what Options.Removal and noindex regions take out
	// of its text, a space in place of what stood between words; nil if nothing was
	// taken out, or KeepContent was not asked for.
	Content []byte
	// ContentCharset is the charset of Content: Charset, or utf-8 if the body had to
	// be decoded.
	ContentCharset string
	// Converter is the external program that read it, "" if none did.
	Converter string
}

// Meta is one meta of a page.
type Meta struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Link is a reference found in a page.
type Link struct {
	Href     string
	NoFollow bool // rel=nofollow
}

// Directives are what robots metas and X-Robots-Tag ask for. The zero value asks nothing.
type Directives struct {
	NoIndex, NoFollow, NoSnippet, NoArchive bool
	// UnavailableAfter is a date as written, "" if there is none; UnavailableAt is
	// what it means, in UTC, zero if it is not a date that can be read: then it asks
	// nothing.
	UnavailableAfter string
	UnavailableAt    time.Time
}
