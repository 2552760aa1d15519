package extract

import (
	"bytes"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
	"github.com/sextant-crawler/sextant/weburl"
)

// Limits of what is kept of one page; what is over them is left out or cut. They
// are far above what pages have that were written for readers.
const (
	maxLinks       = 50_000
	maxMetas       = 1_000
	maxMetaName    = 256      // bytes
	maxMetaContent = 16 << 10 // bytes
	maxTitle       = 4 << 10  // bytes
	maxLanguage    = 64       // bytes
)

// Options of reading a page.
type Options struct {
	// Agent is the crawler's name in robots metas, compared without case; its own
	// metas are obeyed instead of the general ones.
	Agent string
	// MaxLinks limits the links that are kept; 0: 50,000.
	MaxLinks int
}

// HTML reads an HTML or XHTML body. contentType is the header, of which the
// charset counts. No markup is an error; an error is one of decoding or reading.
//
// Links are those of a, area, frame, iframe and of link with rel canonical, next,
// or alternate with hreflang. Those in comments, scripts and templates are none;
// those in noscript, hidden elements and noindex regions are, though the text
// there is left out. The target of a meta refresh is in Refresh alone, as its
// delay decides whether it is a link or a redirect.
func HTML(body []byte, contentType string, o Options) (Page, error) {
	text, charset, err := decode(body, contentType)
	if err != nil {
		return Page{}, err
	}
	if o.MaxLinks <= 0 {
		o.MaxLinks = maxLinks
	}
	r := reader{z: markup.NewScanner(text), options: o, title: textWriter{limit: maxTitle}}
	r.text.b = make([]byte, 0, len(text)*3/4) // seldom more of a page is text
	r.page.Charset = charset
	r.read()
	r.page.Text, r.page.Title, r.page.Robots = r.text.String(), r.title.String(), r.robots.directives()
	return r.page, nil
}

// reader goes once over the tokens of a page.
type reader struct {
	z       markup.Scanner
	options Options
	page    Page
	text    textWriter
	title   textWriter
	robots  robotsSource
	attr    attributes

	inBody    bool // past the head
	inTitle   bool // of the page, not of an SVG image
	hadTitle  bool
	dropNext  bool // text of a script or the like
	noscript  bool // or noframes: shown to browsers that we are not
	svg       int  // depth
	hidden    hidden
	noindex   bool // between noindex and endnoindex comments
	googleoff bool // between googleoff and googleon comments
}

func (r *reader) read() {
	for {
		switch r.z.Next() {
		case markup.End:
			return
		case markup.Text:
			r.textToken(r.z.Data())
		case markup.StartTag:
			r.dropNext = false
			r.startTag(r.z.Tag())
		case markup.EndTag:
			r.dropNext = false
			r.endTag(r.z.Tag())
		case markup.Comment:
			r.comment(r.z.Data())
		}
	}
}

func (r *reader) textToken(text []byte) {
	switch {
	case r.inTitle:
		r.title.write(text, !r.z.Literal())
	case r.dropNext, r.noscript, r.noindex, r.googleoff, r.hidden.active():
	default:
		r.text.write(text, !r.z.Literal())
	}
}

func (r *reader) startTag(a markup.Tag) {
	r.attr.read(r.z.Attributes(), hasReadAttributes(a))
	if r.hidden.active() {
		r.hidden.start(a)
	}
	inert := r.hidden.active() && r.hidden.inert
	if a.Separates() {
		r.text.separate()
	}
	switch a {
	case markup.Script, markup.Style, markup.Iframe, markup.Noembed, markup.Title:
		r.dropNext = true
	case markup.Noscript, markup.Noframes:
		r.z.NotRaw()
		r.noscript = true
	case markup.Svg:
		r.foreign(1)
	}
	if !inert {
		r.element(a)
	}
	if !r.hidden.active() && !a.IsVoid() && (a == markup.Template || r.hides(a)) {
		r.hidden.begin(a, a == markup.Template)
	}
}

// foreign counts the SVG images that are open.
func (r *reader) foreign(by int) {
	r.svg = max(r.svg+by, 0)
	r.z.AllowCDATA(r.svg > 0)
}

// hides knows the hidden attribute. A page that hides its whole body is one whose
// script shows it.
func (r *reader) hides(a markup.Tag) bool {
	return a != markup.HTML && a != markup.Body && r.attr.isHidden()
}

// element takes what a start tag says of the page.
func (r *reader) element(a markup.Tag) {
	r.inBody = r.inBody || !a.InHead()
	switch a {
	case markup.A, markup.Area:
		r.link(r.attr.href, hasToken(r.attr.rel, "nofollow"))
	case markup.Frame, markup.Iframe:
		r.link(r.attr.src, false)
	case markup.Link:
		r.linkElement()
	case markup.Meta:
		r.meta()
	case markup.Input:
		r.page.Password = r.page.Password || bytes.EqualFold(bytes.TrimSpace(r.attr.kind), []byte("password"))
	case markup.Base:
		if r.page.Base == "" {
			r.page.Base = reference(r.attr.href)
		}
	case markup.Title:
		r.inTitle = !r.hadTitle && r.svg == 0
		r.hadTitle = r.hadTitle || r.inTitle
	case markup.HTML:
		if r.page.Language == "" {
			r.page.Language = collapse(r.attr.lang, maxLanguage)
		}
	}
}

func (r *reader) endTag(a markup.Tag) {
	if a.Separates() {
		r.text.separate()
	}
	switch a {
	case markup.Title:
		r.inTitle = false
	case markup.Noscript, markup.Noframes:
		r.noscript = false
	case markup.Svg:
		r.foreign(-1)
	case markup.Head:
		r.inBody = true
	}
	if r.hidden.active() {
		r.hidden.end(a)
	}
}

// comment knows the marks around what must not be searched.
func (r *reader) comment(text []byte) {
	mark := strings.ToLower(string(bytes.TrimSpace(text[:min(len(text), 64)])))
	if name, what, ok := strings.Cut(mark, ":"); ok {
		if what = strings.TrimSpace(what); what != "index" && what != "all" {
			return
		}
		mark = strings.TrimSpace(name)
	}
	switch mark {
	case "noindex":
		r.noindex = true
	case "endnoindex", "/noindex":
		r.noindex = false
	case "googleoff":
		r.googleoff = true
	case "googleon":
		r.googleoff = false
	default:
		return
	}
	r.text.separate()
}

func (r *reader) link(href []byte, nofollow bool) {
	if len(r.page.Links) >= r.options.MaxLinks {
		return
	}
	if ref := reference(href); ref != "" {
		r.page.Links = append(r.page.Links, Link{Href: ref, NoFollow: nofollow})
	}
}

// linkElement reads a link element. A canonical link counts in the head only, as
// what stands in a page's text may be written by others than its owner.
func (r *reader) linkElement() {
	rel := r.attr.rel
	switch {
	case hasToken(rel, "canonical"):
		if r.inBody {
			return
		}
		if r.page.Canonical == "" {
			r.page.Canonical = reference(r.attr.href)
		}
	case hasToken(rel, "next"):
	case hasToken(rel, "alternate") && len(r.attr.hreflang) > 0:
	default:
		return
	}
	r.link(r.attr.href, hasToken(rel, "nofollow"))
}

// reference is the value of an attribute that is a URL, "" if it cannot be one.
func reference(value []byte) string {
	value = bytes.TrimFunc(value, func(c rune) bool { return c <= ' ' })
	if len(value) > weburl.MaxLength {
		return ""
	}
	return strings.ToValidUTF8(string(value), "\ufffd")
}

// hasToken says whether a list of words has one, without regard to case.
func hasToken(list []byte, token string) bool {
	for word := range bytes.FieldsSeq(list) {
		if bytes.EqualFold(word, []byte(token)) {
			return true
		}
	}
	return false
}
