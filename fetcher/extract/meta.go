package extract

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// maxRefresh is the longest delay of a meta refresh, in seconds, that is told.
const maxRefresh = 1 << 30

// attributes are those of a start tag that say something here. They are parts of
// the tokenizer's buffer. Of two with one name the first counts.
type attributes struct {
	href, src, rel, hreflang, lang             []byte
	name, property, content, httpEquiv, hidden []byte
}

func (a *attributes) read(z *html.Tokenizer) {
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		var to *[]byte
		switch string(key) {
		case "href":
			to = &a.href
		case "src":
			to = &a.src
		case "rel":
			to = &a.rel
		case "hreflang":
			to = &a.hreflang
		case "lang", "xml:lang":
			to = &a.lang
		case "name":
			to = &a.name
		case "property":
			to = &a.property
		case "content":
			to = &a.content
		case "http-equiv":
			to = &a.httpEquiv
		case "hidden":
			to = &a.hidden
		default:
			continue
		}
		if *to == nil {
			*to = value
			if value == nil {
				*to = []byte{}
			}
		}
	}
}

// isHidden is true of the hidden attribute, but not of hidden="until-found", which
// is for what readers shall find.
func (a *attributes) isHidden() bool {
	return a.hidden != nil && !bytes.EqualFold(bytes.TrimSpace(a.hidden), []byte("until-found"))
}

func (r *reader) meta() {
	a := &r.attr
	if a.content == nil {
		return
	}
	if a.httpEquiv != nil {
		r.pragma()
	}
	var content string
	for _, attr := range [...][]byte{a.name, a.property} {
		if len(attr) == 0 || len(attr) > maxMetaName {
			continue
		}
		name := strings.ToLower(collapse(attr, 0))
		if name == "" {
			continue
		}
		if content == "" {
			content = collapse(a.content, maxMetaContent)
		}
		switch {
		case r.options.Agent != "" && strings.EqualFold(name, r.options.Agent):
			r.robots.own = r.robots.own.Merge(contentDirectives(content))
			r.robots.named = true
		case name == "robots":
			r.robots.general = r.robots.general.Merge(contentDirectives(content))
		}
		if len(r.page.Metas) < maxMetas {
			r.page.Metas = append(r.page.Metas, Meta{Name: name, Content: content})
		}
	}
}

// pragma reads meta http-equiv. A refresh in noscript is for browsers without
// scripts, which are not who the page is for.
func (r *reader) pragma() {
	switch kind := string(bytes.ToLower(bytes.TrimSpace(r.attr.httpEquiv))); {
	case kind == "refresh" && r.page.Refresh == "" && !r.noscript:
		if seconds, target := refresh(r.attr.content); target != "" {
			r.page.Refresh, r.page.RefreshAfter = target, seconds
		}
	case kind == "content-language" && r.page.Language == "":
		language := collapse(r.attr.content, maxLanguage)
		if !strings.ContainsAny(language, ", ") { // a list is about readers, not about the text
			r.page.Language = language
		}
	}
}

// refresh reads the content of a meta refresh (WHATWG HTML, "shared declarative
// refresh steps"). target is "" if there is none or the content is no refresh.
func refresh(content []byte) (seconds int, target string) {
	const space = " \t\n\f\r"
	s := bytes.TrimLeft(content, space)
	digits := len(s) - len(bytes.TrimLeft(s, "0123456789"))
	if digits == 0 && (len(s) == 0 || s[0] != '.') {
		return 0, ""
	}
	for _, c := range s[:digits] {
		seconds = min(seconds*10+int(c-'0'), maxRefresh)
	}
	s = bytes.TrimLeft(s[digits:], "0123456789.")
	rest := bytes.TrimLeft(s, space)
	if len(rest) > 0 && (rest[0] == ';' || rest[0] == ',') {
		rest = bytes.TrimLeft(rest[1:], space)
	} else if len(rest) == len(s) {
		return 0, "" // neither separator nor white space
	}
	if len(rest) >= 3 && bytes.EqualFold(rest[:3], []byte("url")) {
		if value, ok := bytes.CutPrefix(bytes.TrimLeft(rest[3:], space), []byte("=")); ok {
			rest = bytes.TrimLeft(value, space)
		}
	}
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = bytes.Cut(rest[1:], rest[:1])
	}
	return seconds, reference(rest)
}
