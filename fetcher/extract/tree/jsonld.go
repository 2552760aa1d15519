package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// jsonPath is a path to a value in JSON-LD: the names of properties, inside objects of a type if that is not "".
type jsonPath struct {
	of    string
	names []string
}

const (
	// maxJSONDepth is the depth to which objects of a type are searched.
	maxJSONDepth = 50
	// maxJSONBytes bounds a page's JSON-LD.
	maxJSONBytes = 4 << 20
)

// parseJSONPath parses offers.price, or Product/offers.price.
func parseJSONPath(written string) (jsonPath, error) {
	of, path, typed := strings.Cut(written, "/")
	if !typed {
		of, path = "", written
	}
	p := jsonPath{strings.TrimSpace(of), strings.Split(strings.TrimSpace(path), ".")}
	if typed && p.of == "" || strings.Contains(path, "/") {
		return p, errors.New("has more than one type before a /: write a path such as Product/offers.price")
	}
	for _, name := range p.names {
		if name == "" || strings.ContainsAny(name, " []$*\"'") {
			return p, fmt.Errorf("has %q in the place of a property name: write names separated by dots, such as offers.price; lists are searched", name)
		}
	}
	return p, nil
}

// jsonld adds the values in the page's JSON-LD.
func (p *page) jsonld(s Selector, to *values) {
	if !p.read {
		p.data, p.read = readJSONLD(p.root), true
	}
	for _, v := range p.data {
		if s.path.in(v, 0, to) {
			return
		}
	}
}

// readJSONLD decodes all script elements with JSON-LD; it skips invalid JSON.
func readJSONLD(root *html.Node) (all []any) {
	left := maxJSONBytes
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "script" || !isJSONLD(valueOf(n, "type")) || n.FirstChild == nil {
			continue
		}
		raw := n.FirstChild.Data
		if left -= len(raw); left < 0 {
			break
		}
		if v, err := decodeJSON(raw); err == nil {
			all = append(all, v)
		} else if v, err = decodeJSON(withoutControls(raw)); err == nil {
			all = append(all, v)
		}
	}
	return all
}

func isJSONLD(contentType string) bool {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(t), "application/ld+json")
}

func decodeJSON(raw string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber() // as written
	err = d.Decode(&v)
	return v, err
}

// withoutControls replaces line breaks and the like, which many sites leave in strings, by spaces.
func withoutControls(raw string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, raw)
}

// in adds the values in a top value: in the objects of lists and @graph and, if a type is required, in those of that
// type at any depth. It reports whether no more are needed.
func (j jsonPath) in(v any, depth int, to *values) (enough bool) {
	if depth > maxJSONDepth {
		return false
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if j.in(item, depth+1, to) {
				return true
			}
		}
	case map[string]any:
		if (j.of == "" || hasType(v, j.of)) && j.along(v, j.names, to) {
			return true
		}
		if j.of == "" {
			return j.in(v["@graph"], depth+1, to)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if j.in(v[name], depth+1, to) {
				return true
			}
		}
	}
	return false
}

// hasType reports whether an object is of a type, with or without a vocabulary prefix.
func hasType(object map[string]any, of string) bool {
	is := func(v any) bool {
		t, ok := v.(string)
		return ok && (t == of || strings.HasSuffix(t, "/"+of) || strings.HasSuffix(t, ":"+of))
	}
	if list, ok := object["@type"].([]any); ok {
		return slices.ContainsFunc(list, is)
	}
	return is(object["@type"])
}

// along follows names from a value, through lists.
func (j jsonPath) along(v any, names []string, to *values) (enough bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if j.along(item, names, to) {
				return true
			}
		}
	case map[string]any:
		if len(names) > 0 {
			return j.along(v[names[0]], names[1:], to)
		}
		// The value of an object: its value, name or address.
		for _, name := range []string{"@value", "name", "@id", "url"} {
			if _, list := v[name].([]any); v[name] != nil && !list {
				return j.along(v[name], nil, to)
			}
		}
	case nil:
	default:
		if len(names) == 0 {
			return to.add(fmt.Sprint(v))
		}
	}
	return false
}
