package feeds

import (
	"fmt"
	"slices"
	"strings"
)

// Path selects elements, attributes or text of an XML file by a subset of XPath: names of elements (with or without a
// prefix, in any case, * for any) separated by slashes; a double slash at the beginning for elements at any depth; at
// the end an attribute after @, or text() for the direct text of the element; a dot for the element itself. The zero
// value selects the element itself.
type Path struct {
	text       string
	anywhere   bool // begins with //
	steps      []string
	attribute  string
	directText bool
}

// PathError is an invalid path.
type PathError struct {
	Offset int // of the error, in bytes
	Words  string
}

func (e *PathError) Error() string { return e.Words }

// String returns the path as it was written.
func (p Path) String() string { return p.text }

// ParsePath parses a path. The error is a *PathError. The steps of an absolute path (for ElementPath) begin at the
// root.
func ParsePath(s string) (Path, error) {
	p := Path{text: s}
	rest, offset := s, 0
	fail := func(format string, args ...any) (Path, error) {
		return Path{}, &PathError{Offset: offset, Words: fmt.Sprintf(format, args...)}
	}
	if rest == "" {
		return fail("a path must not be empty: write names such as item/title, @id, text() or .")
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		p.anywhere, rest, offset = true, after, 2
	}
	if s == "." {
		return p, nil
	}
	for {
		step, more, last := rest, "", true
		if before, after, ok := strings.Cut(rest, "/"); ok {
			step, more, last = before, after, false
		}
		name, isAttribute := strings.CutPrefix(step, "@")
		switch {
		case step == "":
			return fail("a name is missing here: // is supported only at the beginning")
		case step == "text()" && last:
			p.directText = true
		case isAttribute && last && isPathName(name):
			p.attribute = strings.ToLower(name)
		case step == "*" || !isAttribute && isPathName(step):
			p.steps = append(p.steps, strings.ToLower(step))
		default:
			return fail("%q is not supported in a path: write names, *, // at the beginning, and @attribute or text() at the end", step)
		}
		if last {
			return p, nil
		}
		offset += len(step) + 1
		rest = more
	}
}

// ElementPath parses a path of elements from the root: /catalog/book, or //book.
func ElementPath(s string) (Path, error) {
	inner, rooted := s, strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//")
	if rooted {
		inner = s[1:]
	}
	p, err := ParsePath(inner)
	if e, ok := err.(*PathError); ok && rooted { //nolint:errorlint // it is never wrapped
		e.Offset++
	}
	if err == nil && (p.attribute != "" || p.directText || len(p.steps) == 0 || !rooted && !p.anywhere) {
		err = &PathError{Words: "it does not begin at the root: write /catalog/book, or //book for elements at any depth"}
	}
	p.text = s
	return p, err
}

func isPathName(s string) bool {
	prefix, local, ok := strings.Cut(s, ":")
	part := func(s string) bool {
		return s != "" && isNameStart(s[0]) && s[0] != ':' && !strings.ContainsAny(s, " \t\r\n:[]()=<>'\"|,$@*+!&/")
	}
	return part(prefix) && (!ok || part(local))
}

// matches reports whether the path selects the open elements.
func (p *Path) matches(open []string) bool {
	switch {
	case p.anywhere && len(open) > len(p.steps):
		open = open[len(open)-len(p.steps):]
	case len(open) != len(p.steps):
		return false
	}
	return slices.EqualFunc(p.steps, open, func(step, name string) bool {
		if step == "*" || step == name {
			return true
		}
		_, local, ok := strings.Cut(name, ":")
		return ok && step == local
	})
}
