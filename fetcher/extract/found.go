package extract

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
	"github.com/sextant-crawler/sextant/weburl"
)

// found holds the links and metas of a page. Their strings are in one buffer, which becomes one string at the end of
// the page.
type found struct {
	strings                            []byte
	links                              []foundLink
	metas                              []foundMeta
	base, canonical, language, refresh part
	refreshAfter                       int
	linksCut                           bool // links were dropped
}

// part is a part of strings.
type part struct{ from, to int }

func (p part) isEmpty() bool { return p.from == p.to }

type foundLink struct {
	href     part
	nofollow bool
}

type foundMeta struct{ name, content part }

// reset begins a page.
func (f *found) reset() {
	*f = found{strings: f.strings[:0], links: f.links[:0], metas: f.metas[:0]}
}

// forget releases memory that is too large for the next page.
func (f *found) forget() {
	if cap(f.strings) > maxScratch {
		f.strings = nil
	}
	if cap(f.links) > maxScratch/64 {
		f.links = nil
	}
}

// page returns the result.
func (f *found) page() Page {
	all := string(f.strings)
	text := func(p part) string { return all[p.from:p.to] }
	p := Page{
		Base: text(f.base), Canonical: text(f.canonical), Language: text(f.language), Refresh: text(f.refresh), RefreshAfter: f.refreshAfter,
		LinksCut: f.linksCut,
	}
	if len(f.links) > 0 {
		p.Links = make([]Link, len(f.links))
		for i, l := range f.links {
			p.Links[i] = Link{Href: text(l.href), NoFollow: l.nofollow}
		}
	}
	if len(f.metas) > 0 {
		p.Metas = make([]Meta, len(f.metas))
		for i, m := range f.metas {
			p.Metas[i] = Meta{Name: text(m.name), Content: text(m.content)}
		}
	}
	return p
}

// reference adds the value of an attribute that is a URL, as written; it is empty if it cannot be one.
func (f *found) reference(value []byte) part {
	from := len(f.strings)
	if isPlain(value) {
		if value = trimControls(value); len(value) <= weburl.MaxLength {
			f.strings = append(f.strings, value...)
		}
		return part{from, len(f.strings)}
	}
	f.strings = markup.AppendUnescaped(f.strings, value)
	url := reference(f.strings[from:])
	f.strings = f.strings[:from]
	return f.text(url)
}

// text adds a text.
func (f *found) text(s string) part {
	from := len(f.strings)
	f.strings = append(f.strings, s...)
	return part{from, len(f.strings)}
}

// isPlain reports whether a value is ASCII without control characters and references.
func isPlain(value []byte) bool {
	return !slices.ContainsFunc(value, func(c byte) bool { return c >= 0x7f || c < ' ' || c == '&' })
}

func trimControls(value []byte) []byte {
	for len(value) > 0 && value[0] <= ' ' {
		value = value[1:]
	}
	for len(value) > 0 && value[len(value)-1] <= ' ' {
		value = value[:len(value)-1]
	}
	return value
}

// reference returns a text that is a URL, "" if it cannot be one.
func reference(value []byte) string {
	value = trimControls(value)
	if len(value) > weburl.MaxLength {
		return ""
	}
	return strings.ToValidUTF8(string(value), "\ufffd")
}

// hasToken reports whether a list of words has one, without regard to case.
func hasToken(list []byte, token string) bool {
	if len(list) < len(token) {
		return false
	}
	for word := range bytes.FieldsSeq(list) {
		if bytes.EqualFold(word, []byte(token)) {
			return true
		}
	}
	return false
}
