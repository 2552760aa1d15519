package extract

import (
	"bytes"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// element handles a start tag.
func (r *reader) element(tag markup.Tag) {
	// Content of noscript is text to a browser with scripts: it ends no head.
	r.inBody = r.inBody || r.muted&noscript == 0 && !tag.Is(markup.InHead)
	switch tag {
	case markup.A:
		r.link(markup.Href)
		if r.isForeign && !r.z.Has(1<<markup.Href) { // SVG 2: href has precedence over xlink:href
			r.link(markup.XlinkHref)
		}
	case markup.Area:
		r.link(markup.Href)
	case markup.Frame, markup.Iframe:
		r.link(markup.Src)
	case markup.Link:
		r.linkElement()
	case markup.Meta:
		r.meta()
	case markup.Input:
		r.input()
	case markup.Base:
		if r.found.base.isEmpty() {
			r.found.base = r.found.reference(r.z.Value(markup.Href))
		}
	case markup.Script:
		if !r.isForeign {
			r.scripts++
		}
	case markup.Title:
		r.inTitle = !r.hadTitle && !r.isForeign
		r.hadTitle = r.hadTitle || r.inTitle
	case markup.HTML:
		if r.found.language.isEmpty() {
			name := markup.Lang
			if !r.z.Has(1 << name) {
				name = markup.XMLLang
			}
			r.found.language = r.collapsed(name, maxLanguage)
		}
	default:
		if r.options.Embedded {
			r.embedded(tag)
		}
	}
}

// link adds the URL in an attribute.
func (r *reader) link(from markup.Name) {
	if r.z.Has(1<<from) && r.room() {
		r.add(r.found.reference(r.z.Value(from)))
	}
}

// room reports whether another link may be added; if not, it marks the links as cut.
func (r *reader) room() bool {
	if len(r.found.links) < r.options.MaxLinks {
		return true
	}
	r.found.linksCut = true
	return false
}

// add adds a URL of the present start tag.
func (r *reader) add(href part) {
	if !href.isEmpty() {
		nofollow := r.z.Has(1<<markup.Rel) && hasToken(r.z.Value(markup.Rel), "nofollow")
		r.found.links = append(r.found.links, foundLink{href, nofollow})
	}
}

// linkElement handles a link element. A canonical link counts as the page's canonical URL only in the head, since parts
// of a body may be written by others than its owner; in the body it is an ordinary link.
func (r *reader) linkElement() {
	r.scratch = r.scratch[:0]
	rel := r.value(markup.Rel)
	switch {
	case hasToken(rel, "canonical"):
		if !r.inBody && r.muted&noscript == 0 && r.found.canonical.isEmpty() {
			r.found.canonical = r.found.reference(r.z.Value(markup.Href))
		}
	case hasToken(rel, "next"):
	case hasToken(rel, "alternate") && len(r.z.Value(markup.Hreflang)) > 0:
	default:
		return
	}
	r.link(markup.Href)
}

func (r *reader) input() {
	r.scratch = r.scratch[:0]
	kind := bytes.TrimSpace(r.value(markup.Type))
	r.password = r.password || bytes.EqualFold(kind, []byte("password"))
	if r.options.Embedded && bytes.EqualFold(kind, []byte("image")) {
		r.link(markup.Src)
	}
}

// embedded adds the parts of a page, and the targets of its forms.
func (r *reader) embedded(tag markup.Tag) {
	switch tag {
	case markup.Img, markup.Source:
		r.link(markup.Src)
		if r.z.Has(1 << markup.Srcset) {
			r.srcset()
		}
	case markup.Video:
		r.link(markup.Src)
		r.link(markup.Poster)
	case markup.Embed, markup.Audio, markup.Track:
		r.link(markup.Src)
	case markup.Object:
		r.link(markup.Data)
	case markup.Form:
		r.scratch = r.scratch[:0]
		if method := bytes.TrimSpace(r.value(markup.Method)); len(method) == 0 || bytes.EqualFold(method, []byte("get")) {
			r.link(markup.Action)
		}
	}
}

// srcset adds the URLs of image candidates (WHATWG HTML, "parsing a srcset attribute").
func (r *reader) srcset() {
	r.scratch = r.scratch[:0]
	rest := r.value(markup.Srcset)
	for {
		rest = bytes.TrimLeft(rest, " \t\n\f\r,")
		if len(rest) == 0 || !r.room() {
			return
		}
		n := bytes.IndexAny(rest, " \t\n\f\r")
		if n < 0 {
			n = len(rest)
		}
		url := rest[:n]
		rest = rest[n:]
		trimmed := bytes.TrimRight(url, ",")
		r.add(r.found.text(reference(trimmed)))
		if len(trimmed) == len(url) {
			rest = rest[descriptors(rest):]
		}
	}
}

// descriptors returns the length of the text after a URL up to the next comma outside of parentheses.
func descriptors(rest []byte) int {
	inside := false
	for i, c := range rest {
		switch {
		case c == '(':
			inside = true
		case c == ')':
			inside = false
		case c == ',' && !inside:
			return i
		}
	}
	return len(rest)
}
