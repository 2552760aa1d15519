package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// maxRefresh is the longest accepted delay of a meta refresh, in seconds.
const maxRefresh = 1 << 30

// meta reads a meta element.
func (r *reader) meta() {
	if r.guess && r.muted&noscript == 0 {
		r.declaration()
	}
	if !r.z.Has(1 << markup.Content) {
		return
	}
	if r.z.Has(1 << markup.HTTPEquiv) {
		r.pragma()
	}
	var content part
	for _, attribute := range [...]markup.Name{markup.NameAttribute, markup.Property} {
		if n := len(r.z.Value(attribute)); n == 0 || n > maxMetaName || len(r.found.metas) >= maxMetas {
			continue
		}
		name := r.collapsed(attribute, 0)
		if name = r.found.lower(name); name.isEmpty() {
			continue
		}
		if content.isEmpty() {
			content = r.collapsed(markup.Content, maxMetaContent)
		}
		r.found.metas = append(r.found.metas, foundMeta{name, content})
		r.robotsMeta(r.found.strings[name.from:name.to], r.found.strings[content.from:content.to])
	}
}

// declaration records a charset that the meta declares. It ends only a guess, and only if it differs.
func (r *reader) declaration() {
	m := scannedMeta{}
	r.scratch = r.scratch[:0]
	for _, a := range [...]struct {
		name markup.Name
		to   *[]byte
	}{{markup.Charset, &m.charset}, {markup.Content, &m.content}, {markup.HTTPEquiv, &m.httpEquiv}} {
		if r.z.Has(1 << a.name) {
			*a.to = bytes.Clone(r.value(a.name))
		}
	}
	if _, name := m.encoding(); name != "" {
		r.guess = false
		if name != "windows-1252" {
			r.declared = m
		}
	}
}

// collapsed adds the value of an attribute with white space collapsed.
func (r *reader) collapsed(n markup.Name, limit int) part {
	w := textWriter{b: r.found.strings, begin: len(r.found.strings), limit: limit}
	from, to := r.z.ValueSpan(n)
	w.writePart(r.page, from, to, inAttribute)
	r.found.strings = w.b
	return part{w.begin, len(w.b)}
}

// robotsMeta takes the directives of a meta for robots.
func (r *reader) robotsMeta(name, content []byte) {
	switch {
	case r.options.Agent != "" && len(name) == len(r.options.Agent) && strings.EqualFold(string(name), r.options.Agent):
		r.robots.own = r.robots.own.Merge(contentDirectives(string(content)))
		r.robots.named = true
	case string(name) == "robots":
		r.robots.general = r.robots.general.Merge(contentDirectives(string(content)))
	}
}

// lower converts the part that was added last to lower case.
func (f *found) lower(p part) part {
	name := f.strings[p.from:p.to]
	for i, c := range name {
		switch {
		case c >= utf8.RuneSelf:
			f.strings = append(f.strings[:p.from], bytes.ToLower(name)...)
			return part{p.from, len(f.strings)}
		case c-'A' <= 'Z'-'A':
			name[i] = c | 0x20
		}
	}
	return p
}

// value returns the value of an attribute with references replaced.
func (r *reader) value(n markup.Name) []byte {
	value := r.z.Value(n)
	if isPlain(value) {
		return value
	}
	from := len(r.scratch)
	r.scratch = markup.AppendUnescaped(r.scratch, value)
	return r.scratch[from:]
}

// pragma reads meta http-equiv. It ignores a refresh in noscript, which is for browsers without scripts.
func (r *reader) pragma() {
	r.scratch = r.scratch[:0]
	kind, content := bytes.TrimSpace(r.value(markup.HTTPEquiv)), r.value(markup.Content)
	switch {
	case bytes.EqualFold(kind, []byte("refresh")) && r.found.refresh.isEmpty() && r.muted&noscript == 0:
		if seconds, target := refresh(content); target != "" {
			r.found.refresh, r.found.refreshAfter = r.found.text(target), seconds
		}
	case bytes.EqualFold(kind, []byte("content-language")) && r.found.language.isEmpty():
		if !bytes.ContainsAny(bytes.TrimSpace(content), ", \t\n\f\r") { // a list describes the audience, not the text
			r.found.language = r.collapsed(markup.Content, maxLanguage)
		}
	}
}

// Refresh parses the value of a Refresh header, like the content of a meta refresh. target is "" if there is none.
func Refresh(value string) (seconds int, target string) { return refresh([]byte(value)) }

// refresh parses the content of a meta refresh (WHATWG HTML, "shared declarative refresh steps"). target is "" if there
// is none or the content is invalid.
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
