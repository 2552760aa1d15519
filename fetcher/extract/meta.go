package extract

import (
	"bytes"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// maxRefresh is the longest delay of a meta refresh, in seconds, that is told.
const maxRefresh = 1 << 30

// attributes are those of a start tag that say something here: parts of the page,
// or of scratch where something had to be replaced. Of two with one name the first
// counts.
type attributes struct {
	href, src, rel, hreflang, lang             []byte
	name, property, content, httpEquiv, hidden []byte
	kind                                       []byte // the type of an input

	set     bool // one of the above is not nil
	scratch []byte
}

// read takes those of the present tag, or, if not all are wanted, hidden alone.
func (a *attributes) read(list markup.Attributes, all bool) {
	if a.set {
		*a = attributes{scratch: a.scratch[:0]}
	}
	for {
		attribute, more := list.Next()
		if !more {
			return
		}
		to := a.field(attribute.Name, all)
		if to == nil || *to != nil {
			continue
		}
		a.set = true
		used := len(a.scratch)
		value := markup.Unescape(attribute.Value, a.scratch)
		if n := used + len(value); n <= cap(a.scratch) && len(value) > 0 && &a.scratch[:n][used] == &value[0] {
			a.scratch = a.scratch[:n]
		}
		if *to = value; value == nil {
			*to = []byte{}
		}
	}
}

// field is where the value of an attribute goes, nil if it says nothing here.
func (a *attributes) field(name []byte, all bool) *[]byte {
	if len(name) < 3 || len(name) > len("http-equiv") {
		return nil
	}
	var folded [len("http-equiv")]byte
	for i, c := range name {
		if c-'A' <= 'Z'-'A' {
			c |= 0x20
		}
		folded[i] = c
	}
	lower := folded[:len(name)]
	if string(lower) == "hidden" {
		return &a.hidden
	}
	if !all {
		return nil
	}
	switch string(lower) {
	case "href":
		return &a.href
	case "src":
		return &a.src
	case "rel":
		return &a.rel
	case "hreflang":
		return &a.hreflang
	case "lang", "xml:lang":
		return &a.lang
	case "name":
		return &a.name
	case "type":
		return &a.kind
	case "property":
		return &a.property
	case "content":
		return &a.content
	case "http-equiv":
		return &a.httpEquiv
	}
	return nil
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
