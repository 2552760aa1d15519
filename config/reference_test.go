package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// guide is the page's text and examples, in the order of tasks. Its lines "### ELEMENT" and
// "@table ELEMENT, ELEMENT: ATTRIBUTE ATTRIBUTE" are filled in from the table.
const guide = "testdata/reference.md"

// referencePage is docs/configuration.md: every element and attribute with type, range,
// default and meaning, in Markdown.
func referencePage(t *testing.T) string {
	t.Helper()
	text := testdir.Read(t, filepath.FromSlash(guide))
	elements := newSchema().elements
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString(filledIn(t, elements, line))
	}
	return b.String()
}

// filledIn returns a line of the guide with what the table says in its place.
func filledIn(t *testing.T, elements map[string]*Element, line string) string {
	t.Helper()
	if name, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok && elements[name] != nil {
		return "### " + headingOf(elements[name]) + "\n\n" + standing(elements, elements[name])
	}
	names, attributes, ok := tableOf(elements, line)
	if !ok {
		return line
	}
	if a := elements[names[0]].attribute(attributes[0]); a != nil && a.Status == NoEffect {
		return "`" + strings.Join(attributes, "`, `") + "`.\n"
	}
	kind := commonKind(elements, names[0], attributes)
	b := "| attribute | type | default | meaning |\n| --- | --- | --- | --- |\n"
	if kind != "" {
		b = strings.TrimSuffix(strings.TrimSpace(kind), ".") + ":\n\n" + b
	}
	for _, name := range attributes {
		first := row(t, elements, names[0], name)
		for _, other := range names[1:] {
			if row(t, elements, other, name) != first {
				t.Errorf("%s: %s of <%s> and <%s> are not described alike: give each a table of its own", guide, name, names[0], other)
			}
		}
		b += strings.Replace(first, kind, "", 1)
	}
	return b
}

// commonKind returns the sentence about kinds that all attributes of a table share, or "".
func commonKind(elements map[string]*Element, element string, attributes []string) string {
	shared := ""
	for i, name := range attributes {
		if a := elements[element].attribute(name); a != nil {
			if kind := a.kindSentence(); i > 0 && kind != shared {
				return ""
			}
			shared = a.kindSentence()
		}
	}
	return shared
}

// tableOf reads a line that asks for a table: of which elements, and which attributes.
func tableOf(elements map[string]*Element, line string) (names, attributes []string, ok bool) {
	line, ok = strings.CutPrefix(strings.TrimSpace(line), "@table ")
	if !ok {
		return nil, nil, false
	}
	line, chosen, some := strings.Cut(line, ":")
	names = strings.Split(line, ", ")
	if some {
		return names, strings.Fields(chosen), true
	}
	if e := elements[line]; e != nil {
		for _, a := range e.Attributes {
			attributes = append(attributes, a.Name)
		}
	}
	return names, attributes, true
}

// row returns an attribute in a table.
func row(t *testing.T, elements map[string]*Element, element, name string) string {
	t.Helper()
	e := elements[element]
	if e == nil || e.attribute(name) == nil {
		t.Errorf("%s: there is no attribute %s of <%s>", guide, name, element)
		return ""
	}
	a := e.attribute(name)
	return fmt.Sprintf("| %s | %s | %s | %s |\n", a.Name, a.typeWords(), a.defaultWords(),
		cell(a.Doc+a.kindSentence()+a.attributeStatus(*e)))
}

// headingOf returns the name of an element, with where it stands if another one has the same.
func headingOf(e *Element) string {
	if e.Key == "" {
		return e.Name
	}
	return e.Name + " in " + strings.Join(e.Parents, ", ")
}

// standing says what an element is, and where it stands.
func standing(elements map[string]*Element, e *Element) string {
	words := e.Doc
	if len(e.Parents) > 0 {
		times := ", repeatable"
		switch {
		case e.Once:
			times = ""
		case e.Needed:
			times = ", at least once"
		}
		var parents []string
		for _, key := range e.Parents {
			parents = append(parents, elements[key].Name)
		}
		if e.Role != Condition {
			words += fmt.Sprintf(" In %s%s.", strings.Join(parents, ", "), times)
		} else if e.Name == "And" {
			words = "As all conditions, stands in " + strings.Join(parents, ", ") + ". " + words
		}
	}
	if e.Text {
		words += " Its content is text."
	}
	return words + statusSentence(e.Status) + "\n"
}

func statusSentence(s Status) string {
	switch s {
	case Refused:
		return " *Refused by this version.*"
	case Supported, NoEffect:
	}
	return ""
}

func (a *Attribute) attributeStatus(e Element) string {
	switch {
	case e.Status != Supported:
		return ""
	case len(a.NotYet) > 0:
		return " *Refused by this version: " + strings.Join(a.NotYet, ", ") + ".*"
	case a.Inert != "":
		return strings.TrimSuffix(statusSentence(a.Status), ".*") + ", other than " + a.Inert + ".*"
	default:
		return statusSentence(a.Status)
	}
}

func (a *Attribute) typeWords() string {
	if a.Type.isNumber() {
		return fmt.Sprintf("%s, %d to %d", a.Type, a.Min, a.Max)
	}
	if a.Type == Enum {
		return strings.Join(a.Values, ", ")
	}
	return a.Type.String()
}

func (a *Attribute) defaultWords() string {
	switch {
	case a.Required:
		return "required"
	case a.Default == "":
		return ""
	default:
		return cell("`" + a.Default + "`")
	}
}

// String returns the type in the words of the reference.
func (t Type) String() string {
	switch t {
	case Bool:
		return "boolean"
	case Int:
		return "number"
	case Milliseconds:
		return "milliseconds"
	case Seconds:
		return "seconds"
	case Bytes:
		return "bytes"
	case Enum:
		return "one of several"
	case SecretString:
		return "secret"
	case HTTPURL:
		return "URL"
	case HeaderValue:
		return "printable ASCII"
	case Product:
		return "product token"
	case KeyValues:
		return "k1=v1;k2=v2"
	case Pattern:
		return "pattern"
	case Path:
		return "path"
	case HourRanges:
		return "hours"
	case Command:
		return "command"
	case Selector:
		return "selector"
	case String:
	}
	return "text"
}

// cell makes text safe inside of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
