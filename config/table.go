package config

import (
	"cmp"
	"slices"
)

// Type is the syntax of an attribute's value.
type Type uint8

// The types. Numbers are decimal; Milliseconds and Seconds become durations.
const (
	String Type = iota
	Bool
	Int
	Milliseconds
	Seconds
	Bytes
	Enum         // one of Attribute.Values
	SecretString // ${ENV} or file:PATH; never printed
	HTTPURL      // absolute http or https URL
	HeaderValue  // printable ASCII
	Product      // product token of RFC 9309 section 2.2.1
	KeyValues    // k1=v1;k2=v2
	Pattern      // reversed escaping, or RE2 if litteral is false
	Path         // a file, relative to the configuration's folder
	HourRanges   // hours of the day, such as 22-6 or 22:30-06:00,12-13
	Command      // a program, by its absolute path, and its arguments
	Selector     // syntax of tree.Parse, such as css:.price
)

// Status is the support of an element or attribute in this version.
type Status uint8

// The statuses.
const (
	// Supported: works as Doc describes.
	Supported Status = iota
	// NoEffect: one of CloudView's, accepted, and listed as a note.
	NoEffect
	// Refused: an error, since this version does not support it, and ignoring it would crawl, index or push what was
	// forbidden, or lose data.
	Refused
)

// Attribute describes one attribute of an element.
type Attribute struct {
	Name string
	Type Type
	// Default is the value of a missing attribute.
	Default string
	// Min and Max, inclusive, bound a number (in the attribute's own unit).
	Min, Max int64
	// Values are an Enum's; NotYet are those that this version refuses.
	Values, NotYet []string
	// Required attributes must be present, and not empty unless MayBeEmpty.
	Required, MayBeEmpty bool
	// NotEmpty: it can be omitted, but not be "".
	NotEmpty bool
	// Unique: no two such elements in the same parent have the same value.
	Unique bool
	// Kinds restricts it to elements whose attribute kind has one of these values.
	Kinds []string
	// Auth restricts it to elements whose attribute auth has one of these values.
	Auth   []string
	Status Status
	// Instead is what to write in place of the value InsteadOf of an attribute without effect.
	Instead, InsteadOf string
	// Inert is the value that requires nothing unsupported, so that writing it is neither an error nor a warning.
	Inert string
	// Doc is one sentence for the reference.
	Doc string

	// Rereads is set if a change requires unchanged pages to be read again, since they would give other documents.
	Rereads bool

	// to returns the destination of the value; nil if the element's own reader handles it. yes is the value of an Enum
	// that means true, for a bool destination.
	to  func(*Crawler) any
	yes string
}

// Role is the role of an element in a rule.
type Role uint8

// The roles.
const (
	Setting Role = iota // neither condition nor action
	Condition
	Action
)

// Element describes one element of CrawlConfig.xml.
type Element struct {
	Name string
	// Key distinguishes elements of the same name in different parents; "" if there is only one.
	Key  string
	Role Role
	// Parents are the keys of the elements that may contain it; none for CrawlConfig.
	Parents []string
	// Once: at most one in its parent.
	Once bool
	// Needed: at least one in its parent.
	Needed bool
	// Text: it has text content.
	Text bool
	// Open: its content is not checked.
	Open bool
	// build builds the condition of an element with role Condition.
	build      builder
	Attributes []Attribute
	Status     Status
	// Rereads is as in Attribute, for everything in the element.
	Rereads bool
	// Doc is one sentence for the reference.
	Doc string
}

// key returns the element's key in the table.
func (e *Element) key() string { return cmp.Or(e.Key, e.Name) }

// Elements returns the table of CrawlConfig.xml, in the order of the schema: element, parents, attributes with type,
// default and range, and their support in this version. The slices belong to the caller.
func Elements() []Element {
	return slices.Concat(frameElements(), notifyElements(), crawlElements(), gateElements(), contentElements(), fetchElements(), sourceElements(),
		conditionElements(), actionElements())
}

// schema is the table, indexed for parsing.
type schema struct {
	elements map[string]*Element // by key
	children map[string][]string // key of the parent: keys of its children, in table order
	names    []string            // of all elements, in table order
}

func newSchema() *schema {
	s := &schema{elements: make(map[string]*Element), children: make(map[string][]string)}
	table := Elements()
	for i := range table {
		e := &table[i]
		s.elements[e.key()] = e
		s.names = append(s.names, e.Name)
		for _, parent := range e.Parents {
			s.children[parent] = append(s.children[parent], e.key())
		}
	}
	return s
}

// inside returns the element of a name inside another one, nil if none is allowed there.
func (s *schema) inside(parent *Element, name string) *Element {
	for _, key := range s.children[parent.key()] {
		if e := s.elements[key]; e.Name == name {
			return e
		}
	}
	return nil
}

// namesInside returns the names of the elements allowed in another one.
func (s *schema) namesInside(parent *Element) []string {
	var names []string
	for _, key := range s.children[parent.key()] {
		names = append(names, s.elements[key].Name)
	}
	return names
}

// attribute returns the description of one attribute, nil if there is none.
func (e *Element) attribute(name string) *Attribute {
	for i := range e.Attributes {
		if e.Attributes[i].Name == name {
			return &e.Attributes[i]
		}
	}
	return nil
}

// owner returns the only element that has an attribute of this name, "" if several or none have it.
func (s *schema) owner(attribute string) (name string) {
	for _, e := range s.elements {
		switch {
		case !slices.Contains(e.attributeNames(), attribute):
		case name != "" && name != e.Name:
			return ""
		default:
			name = e.Name
		}
	}
	return name
}

// attributeNames returns the names of the attributes with an effect.
func (e *Element) attributeNames() []string {
	names := make([]string, 0, len(e.Attributes))
	for i := range e.Attributes {
		if e.Attributes[i].Status != NoEffect {
			names = append(names, e.Attributes[i].Name)
		}
	}
	return names
}

// isNumber reports whether values of the type are whole numbers with a range.
func (t Type) isNumber() bool {
	return t == Int || t == Milliseconds || t == Seconds || t == Bytes
}

// ranged builds an attribute that is a number.
func ranged(name string, t Type, def string, least, most int64, doc string) Attribute {
	return Attribute{Name: name, Type: t, Default: def, Min: least, Max: most, Doc: doc}
}

// boolean builds an attribute that is true or false.
func boolean(name, def, doc string) Attribute {
	return Attribute{Name: name, Type: Bool, Default: def, Doc: doc}
}

// required builds a required string attribute.
func required(name string, t Type, doc string) Attribute {
	return Attribute{Name: name, Type: t, Required: true, Doc: doc}
}

// text builds an optional string attribute.
func text(name string, t Type, def, doc string) Attribute {
	return Attribute{Name: name, Type: t, Default: def, Doc: doc}
}

// unique marks an attribute that identifies elements.
func unique(a Attribute) Attribute {
	a.Unique = true
	return a
}

// noEffect returns CloudView's own attributes.
func noEffect(names ...string) []Attribute {
	var out []Attribute
	for _, name := range names {
		out = append(out, Attribute{Name: name, Status: NoEffect, Doc: "CloudView's own: accepted, without effect."})
	}
	return out
}
