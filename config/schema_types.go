package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/beevik/etree"
)

// commonTypes defines the types that attributes and empty elements share.
func commonTypes(root *etree.Element) {
	// A constraint can only compare elements with a value, so an empty element has the value "". White space and
	// comments may be inside.
	restriction(define(root, "simpleType", "nothing"), "xs:token", facet{"length", "0"})
	restriction(define(root, "simpleType", "some"), "xs:string", facet{"minLength", "1"})
	restriction(define(root, "simpleType", "variable"), "xs:string", facet{"pattern", `[\s\S]*$\{[A-Za-z_][A-Za-z0-9_]*\}[\s\S]*`})
	restriction(define(root, "simpleType", "boolean"), "xs:token",
		facet{"enumeration", "true"}, facet{"enumeration", "false"}, facet{"enumeration", "1"}, facet{"enumeration", "0"})
}

// attribute declares an attribute, unless this version refuses all its values.
func attribute(t *etree.Element, a *Attribute) {
	if a.Status == Refused && a.Inert == "" {
		return
	}
	el := t.CreateElement("xs:attribute")
	el.CreateAttr("name", a.Name)
	if a.Required {
		el.CreateAttr("use", "required")
	} else if a.Default != "" && a.Status == Supported {
		el.CreateAttr("default", a.Default)
	}
	document(el, a.Doc+a.kindSentence())
	base, facets := a.restriction()
	if base == "" {
		el.CreateAttr("type", "xs:string")
		return
	}
	if a.Status == Refused {
		restriction(el.CreateElement("xs:simpleType"), base, facets...)
		return
	}
	// Any value may come from a variable, and is checked once it is known.
	union := el.CreateElement("xs:simpleType").CreateElement("xs:union")
	if len(facets) == 0 {
		union.CreateAttr("memberTypes", base+" ar:variable")
		return
	}
	union.CreateAttr("memberTypes", "ar:variable")
	restriction(union.CreateElement("xs:simpleType"), base, facets...)
}

// restriction returns the schema type of an attribute; no base means any string.
func (a *Attribute) restriction() (base string, facets []facet) {
	switch {
	case a.Status == NoEffect:
		return "", nil
	case a.Type == Bool && a.Status == Refused:
		return "xs:token", []facet{{"enumeration", "false"}, {"enumeration", "0"}}
	case a.Type == Bool:
		return "ar:boolean", nil
	case a.Type == Enum:
		for _, v := range a.Values {
			if !slices.Contains(a.NotYet, v) {
				facets = append(facets, facet{"enumeration", v})
			}
		}
		return "xs:token", facets
	case a.Type.isNumber() && a.Status == Refused:
		return "xs:integer", []facet{{"enumeration", a.Inert}}
	case a.Type.isNumber():
		return "xs:integer", []facet{{"minInclusive", strconv.FormatInt(a.Min, 10)}, {"maxInclusive", strconv.FormatInt(a.Max, 10)}}
	case a.Type == HTTPURL:
		return "xs:string", []facet{{"pattern", `[Hh][Tt][Tt][Pp][Ss]?://[\s\S]+`}}
	case a.Type == HeaderValue:
		return "xs:string", []facet{{"pattern", "[ -~]*"}}
	case a.Type == HourRanges:
		return "xs:string", []facet{{"pattern", hoursPattern}}
	case a.Type == Selector:
		return "xs:string", []facet{{"pattern", `\s*(css|xpath|jsonld|meta|header)\s*:[\s\S]*\S[\s\S]*`}}
	case a.Type == Product:
		return "xs:string", []facet{{"pattern", `[A-Za-z_\-]+`}}
	case a.Required && !a.MayBeEmpty, a.NotEmpty, a.Type == Pattern, a.Type == Path, a.Type == SecretString:
		return "ar:some", nil
	default:
		return "", nil
	}
}

type facet struct{ name, value string }

func restriction(simpleType *etree.Element, base string, facets ...facet) {
	r := simpleType.CreateElement("xs:restriction")
	r.CreateAttr("base", base)
	for _, f := range facets {
		r.CreateElement("xs:"+f.name).CreateAttr("value", f.value)
	}
}

// extension gives a type simple content, and returns the element for its attributes.
func extension(t *etree.Element, base string) *etree.Element {
	e := t.CreateElement("xs:simpleContent").CreateElement("xs:extension")
	e.CreateAttr("base", base)
	return e
}

// define adds a named definition to a schema.
func define(root *etree.Element, kind, name string) *etree.Element {
	e := root.CreateElement("xs:" + kind)
	e.CreateAttr("name", name)
	return e
}

// declare adds the declaration of an element, without its type.
func declare(parent *etree.Element, e *Element) *etree.Element {
	el := define(parent, "element", e.Name)
	document(el, e.Doc)
	return el
}

func document(parent *etree.Element, text string) {
	parent.CreateElement("xs:annotation").CreateElement("xs:documentation").SetText(text)
}

// reference refers to a group.
func reference(parent *etree.Element, name string) *etree.Element {
	g := parent.CreateElement("xs:group")
	g.CreateAttr("ref", name)
	return g
}

// conditions allows one condition, in either namespace.
func conditions(parent *etree.Element) *etree.Element {
	choice := parent.CreateElement("xs:choice")
	reference(choice, "ar:condition")
	reference(choice, "crawl:condition")
	return choice
}

func anyNumber(e *etree.Element) *etree.Element {
	e.CreateAttr("minOccurs", "0")
	e.CreateAttr("maxOccurs", "unbounded")
	return e
}

// identity adds a key (each selected element has one field) or unique (no two
// have the same) constraint to an element.
func identity(el *etree.Element, kind, name, selector, field string) {
	c := define(el, kind, name)
	c.CreateElement("xs:selector").CreateAttr("xpath", selector)
	c.CreateElement("xs:field").CreateAttr("xpath", field)
}

func written(doc *etree.Document) ([]byte, error) {
	doc.Indent(2)
	return doc.WriteToBytes()
}

// kindSentence returns which elements of one name may have the attribute.
func (a *Attribute) kindSentence() string {
	switch {
	case len(a.Kinds) > 0 && len(a.Kinds) == len(pushKinds())-1 && !slices.Contains(a.Kinds, "file"):
		return " Not for kind file."
	case len(a.Kinds) > 0:
		return " For kind " + strings.Join(a.Kinds, ", ") + " only."
	case len(a.Auth) == len(authKinds()):
		return " For any auth."
	case len(a.Auth) > 0:
		return " For auth " + strings.Join(a.Auth, ", ") + " only."
	}
	return ""
}
