package extract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// Removal is a list of elements that are removed from the text of pages. It is immutable; nil removes nothing.
type Removal struct {
	tags    [markup.Tags]bool   // by name
	others  map[string]struct{} // by names that markup does not know
	classes map[string][]string // names of elements by class, "" for any
	ids     map[string][]string
}

// NewRemoval compiles a list of elements: "nav" by name, "div.ads" by name and
// class, ".ads" by class, "#footer" and "div#footer" by id. Names are compared
// without case, classes and ids with it. html, head and body cannot be removed.
func NewRemoval(elements []string) (*Removal, error) {
	m := &Removal{others: map[string]struct{}{}, classes: map[string][]string{}, ids: map[string][]string{}}
	var errs []error
	for _, element := range elements {
		if err := m.add(strings.TrimSpace(element)); err != nil {
			errs = append(errs, fmt.Errorf("removed element %q: %w", element, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return m, nil
}

func (m *Removal) add(element string) error {
	at := strings.IndexAny(element, ".#")
	name := element
	if at >= 0 {
		name = element[:at]
	}
	name = strings.ToLower(name)
	switch {
	case element == "":
		return errors.New("it is empty: write name, name.class, .class or #id")
	case !isElementName(name):
		return fmt.Errorf("%q is not the name of an element: write name, name.class, .class or #id; other CSS is not supported", element)
	case isPage(markup.Lookup([]byte(name))):
		return fmt.Errorf("%s cannot be removed, because nothing would be left", name)
	case at >= 0:
		word := element[at+1:]
		if word == "" || strings.ContainsAny(word, " \t\n\f\r.#>+~*[]:,") {
			return fmt.Errorf("%q is not a class or id: write one name after . or #; other CSS is not supported", word)
		}
		if element[at] == '.' {
			m.classes[word] = append(m.classes[word], name)
		} else {
			m.ids[word] = append(m.ids[word], name)
		}
		return nil
	}
	if tag := markup.Lookup([]byte(name)); tag != markup.Other {
		m.tags[tag] = true
	} else {
		m.others[name] = struct{}{}
	}
	return nil
}

// isElementName reports whether a name is empty or a valid element name.
func isElementName(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c != '-' && c != '_' && c != ':' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// matches reports whether the element of the current start tag must be removed.
func (m *Removal) matches(r *reader, tag markup.Tag) bool {
	if m.tags[tag] || tag == markup.Other && len(m.others) > 0 && m.hasOther(r.z.Data()) {
		return true
	}
	if r.z.Has(1<<markup.Class) && len(m.classes) > 0 {
		r.scratch = r.scratch[:0]
		for rest := r.value(markup.Class); len(rest) > 0; {
			n := 0
			for n < len(rest) && !isSpace(rest[n]) {
				n++
			}
			if names := m.classes[string(rest[:n])]; names != nil && hasName(names, r.z.Data()) {
				return true
			}
			rest = rest[min(n+1, len(rest)):]
		}
	}
	if r.z.Has(1<<markup.ID) && len(m.ids) > 0 {
		r.scratch = r.scratch[:0]
		names := m.ids[string(r.value(markup.ID))]
		return names != nil && hasName(names, r.z.Data())
	}
	return false
}

// hasOther reports whether the list has an element's name, in any case.
func (m *Removal) hasOther(name []byte) bool {
	var folded [64]byte
	if len(name) > len(folded) {
		return false
	}
	for i, c := range name {
		if c-'A' <= 'Z'-'A' {
			c |= 0x20
		}
		folded[i] = c
	}
	_, ok := m.others[string(folded[:len(name)])]
	return ok
}

// hasName reports whether an element's name is in a list, or the list has "" for all.
func hasName(names []string, name []byte) bool {
	for _, n := range names {
		if n == "" || len(n) == len(name) && strings.EqualFold(n, string(name)) {
			return true
		}
	}
	return false
}
