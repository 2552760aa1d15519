package tree

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/antchfx/xpath"
	"golang.org/x/net/http/httpguts"
)

// Kind is the syntax of a selector, by its first word.
type Kind string

// The kinds. Meta and Header need no tree.
const (
	CSS    Kind = "css"
	XPath  Kind = "xpath"
	JSONLD Kind = "jsonld"
	Meta   Kind = "meta"
	Header Kind = "header"
	// Content is all text of a page, in a form.
	Content Kind = "content"
)

// Kinds returns all kinds, in the order of the manual.
func Kinds() []Kind { return []Kind{CSS, XPath, JSONLD, Meta, Header, Content} }

// NeedsTree reports whether values of the kind require a page's tree.
func (k Kind) NeedsTree() bool { return k == CSS || k == XPath || k == JSONLD || k == Content }

// HasAttribute reports whether the kind selects elements, whose attributes can be taken.
func (k Kind) HasAttribute() bool { return k == CSS || k == XPath }

// Selector selects values. It is immutable, but an XPath must not be used by two goroutines at once.
type Selector struct {
	Kind Kind
	// Name is the part after the kind: the expression, path or name; in lower case for a meta.
	Name string

	css     cascadia.SelectorGroup
	xpath   *xpath.Expr
	path    jsonPath
	content content
}

// maxSelector bounds a selector in bytes, since their parsers are recursive.
const maxSelector = 1000

// Parse parses a selector: its kind, a colon, and an expression of that kind. The error's text continues a sentence
// about the selector.
func Parse(written string) (s Selector, err error) {
	kind, name, colon := strings.Cut(written, ":")
	s = Selector{Kind: Kind(strings.TrimSpace(kind)), Name: strings.TrimSpace(name)}
	switch {
	case !colon || !slices.Contains(Kinds(), s.Kind):
		return s, errors.New("does not begin with css:, xpath:, jsonld:, meta:, header: or content:, followed by a selector")
	case s.Name == "":
		return s, fmt.Errorf("has nothing after %s: %s", s.Kind, example(s.Kind))
	case len(written) > maxSelector:
		return s, fmt.Errorf("is longer than %d bytes", maxSelector)
	}
	defer func() {
		if crash := recover(); crash != nil { // of a parser
			err = fmt.Errorf("is not a %s expression: %v", s.Kind, crash)
		}
	}()
	switch s.Kind {
	case CSS:
		err = s.parseCSS()
	case XPath:
		if err = bracketed(s.Name, false); err == nil {
			err = undeclared(s.Name)
		}
		if err == nil {
			s.xpath, err = xpath.Compile(s.Name)
		}
		if err != nil {
			err = fmt.Errorf("is not an XPath 1.0 expression: %w", err)
		}
	case JSONLD:
		s.path, err = parseJSONPath(s.Name)
	case Content:
		s.content, err = parseContent(s.Name)
	case Meta:
		s.Name = strings.ToLower(s.Name)
	case Header:
		if !httpguts.ValidHeaderFieldName(s.Name) {
			err = errors.New("is not a header name: write one such as header:Content-Language")
		} else if strings.EqualFold(s.Name, "Set-Cookie") {
			err = errors.New("names cookies, which are secret and do not belong in documents")
		}
	}
	return s, err
}

// example returns an example for a kind.
func example(k Kind) string {
	switch k {
	case CSS:
		return "write a selector, such as css:.price"
	case XPath:
		return "write an expression, such as xpath://table[1]//td[2]"
	case JSONLD:
		return "write a path, such as jsonld:offers.price"
	case Header:
		return "write a name, such as header:Content-Language"
	case Content:
		return "write a form, such as content:markdown"
	case Meta:
	}
	return "write a name, such as meta:article:section"
}

func (s *Selector) parseCSS() error {
	if at := strings.Index(s.Name, "::"); at >= 0 {
		return fmt.Errorf("ends with %s: omit it to select the text of an element, and write attribute=\"...\" for an attribute", s.Name[at:])
	}
	var err error
	if err = bracketed(s.Name, true); err != nil {
		return fmt.Errorf("is not a CSS selector: %w", err)
	}
	if s.css, err = cascadia.ParseGroup(s.Name); err != nil {
		words := err.Error()
		if _, after, ok := strings.Cut(words, "\": "); ok { // it repeats the selector
			words = after
		}
		return fmt.Errorf("is not a CSS selector: %s", words)
	}
	return nil
}

// bracketed returns an error for unbalanced brackets, because the parsers ignore some. A backslash escapes in CSS.
func bracketed(expression string, escapes bool) error {
	var open []rune // expected closing brackets
	quote := rune(0)
	escaped := false
	for _, r := range expression {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && escapes:
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '(':
			open = append(open, ')')
		case r == '[':
			open = append(open, ']')
		case r == ')' || r == ']':
			if len(open) == 0 || open[len(open)-1] != r {
				return fmt.Errorf("there is an unmatched %c: remove it", r)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 && quote == 0 { // otherwise the parsers report it
		return fmt.Errorf("a %c is missing at the end", open[len(open)-1])
	}
	return nil
}

// undeclared returns an error for a prefix without a namespace: HTML has none.
func undeclared(expression string) error {
	if found := prefixed.FindStringSubmatch(quoted.ReplaceAllString(expression, `""`)); found != nil {
		return fmt.Errorf("the prefix of %s is not declared: elements of pages have no prefix; write %s", found[1], found[2])
	}
	return nil
}

// FindsNothing returns why the selector can never find anything, "" if it may; attribute is that of the pick.
func (s *Selector) FindsNothing(attribute string) string {
	switch s.Kind {
	case CSS:
		if name := interactive.FindStringSubmatch(s.Name); name != nil && !strings.Contains(s.Name, ",") {
			return name[1] + " depends on user interaction and never matches: remove it"
		}
		if name := textless.FindStringSubmatch(strings.ToLower(s.Name)); name != nil && attribute == "" {
			return name[1] + " never contains text: write attribute=\"" + attributeOf(name[1]) + "\", too"
		}
	case XPath:
		if name := upperStep.FindStringSubmatch(s.Name); name != nil {
			return "element names are in lower case in a page's tree: write " + strings.ToLower(name[1])
		}
		if name := textlessStep.FindStringSubmatch(s.Name); name != nil && attribute == "" {
			return name[1] + " never contains text: write attribute=\"" + attributeOf(name[1]) + "\", too, or /@" + attributeOf(name[1]) + " at the end"
		}
	case Meta, JSONLD, Header, Content:
	}
	return ""
}

// attributeOf returns the attribute that holds the value of an element without text.
func attributeOf(element string) string {
	switch element {
	case "meta":
		return "content"
	case "input":
		return "value"
	case "link":
		return "href"
	}
	return "src"
}

var (
	// quoted is a string in an expression, prefixed a name with a prefix that is not an axis.
	quoted   = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	prefixed = regexp.MustCompile(`(?:^|[^\w:.-])([A-Za-z_][\w.-]*:([A-Za-z_][\w.-]*|\*))(?:$|[^\w:(-])`)
	// interactive is a condition that is never true, except inside :not().
	interactive = regexp.MustCompile(`^[^(]*(:(?:visited|hover|active|focus|target))\b`)
	// textless is a CSS selector whose elements have no text.
	textless = regexp.MustCompile(`^(?:[^,]*[\s>+~])?(meta|input|link|img|embed)(?:[.#:\[][^\s>+~,]*)?$`)
	// upperStep is a step of XPath in upper case, which HTML does not have.
	upperStep = regexp.MustCompile(`^(?:[^"'\[\]]*/)?([A-Z][A-Z0-9]*)(?:$|[/\[])`)
	// textlessStep is a last step whose elements have no text.
	textlessStep = regexp.MustCompile(`/(meta|input|link|img|embed)(?:\[[^\[\]/]*\])*$`)
)
