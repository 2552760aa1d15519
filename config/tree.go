package config

import (
	"encoding/xml"
	"iter"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config/words"
)

// node is an element of the table, with its valid attributes.
type node struct {
	spec     *Element
	at       int // offset of its start tag
	attrs    []attr
	text     string // if the table allows text, with ${ENV} resolved
	textAt   int
	children []*node
	// faulty and the next field record reported errors: names of attributes, and whether there were elements inside.
	// They prevent a second report of one error.
	faulty []string
	lost   bool
}

// attr is a valid attribute.
type attr struct {
	spec *Attribute
	place
	text string // with ${ENV} and file: resolved
}

// parser turns a file into nodes and reports all errors.
type parser struct {
	src     *source
	schema  *schema
	lookups Lookups
	report  *Report
	// crawlLogs are the offsets of the crawl logs so far, by their real paths.
	crawlLogs map[string]int
	// allowed are the comments of all files that silence warnings.
	allowed []*allowance
	// inert are the attributes and elements without effect that were not reported yet.
	inert []inert
	// lenient ignores unknown parts of CloudView's namespaces (CrawlConfig, unknown).
	lenient bool
	// quick leaves rules uncompiled, and reports no warnings.
	quick bool
	// places is a buffer for the positions of an element's attributes.
	places []place
	// undeclared are the reported prefixes without a declaration.
	undeclared map[string]bool
}

// parseTree reads the file's elements; nil if its outermost one is not CrawlConfig or the file is not well-formed.
func (p *parser) parseTree() *node {
	root, f := newScan(p.src).run()
	if f != nil {
		p.report.errorf(p.src.position(f.offset), "%s", f.message)
		return nil
	}
	if root.name.Local != "CrawlConfig" {
		p.errorf(root.Start, "the outermost element is <%s>: <CrawlConfig> is expected", clip(rawName(root.name)))
		return nil
	}
	p.xmlAllowances(root)
	p.lenient = slices.ContainsFunc(root.attrs, func(a xml.Attr) bool {
		return a.Name == xml.Name{Local: unknownAttributeName} && a.Value == unknownWarn
	})
	p.undeclared = map[string]bool{}
	return p.element(root, nil, nil)
}

func (p *parser) errorf(offset int, format string, args ...any) {
	if !p.report.full() {
		p.report.errorf(p.src.position(offset), format, args...)
	}
}

func (p *parser) warnf(offset int, format string, args ...any) {
	p.report.warnf(p.src.position(offset), format, args...)
}

func (p *parser) position(offset int) actionrules.Position { return p.src.position(offset) }

// element reads one element and its content; nil if it is not usable.
func (p *parser) element(e *Markup, parent *node, scope *namespaces) *node {
	scope = scope.enter(e)
	spec := p.elementSpec(e, parent, scope)
	if spec == nil {
		return nil
	}
	return p.built(spec, e, scope)
}

// built reads the attributes and the content of an element.
func (p *parser) built(spec *Element, e *Markup, scope *namespaces) *node {
	n := &node{spec: spec, at: e.Start}
	p.attributes(n, e, scope)
	switch {
	case spec.Text:
		p.text(n, e)
	case e.TextAt > 0:
		p.errorf(e.TextAt, "text inside of <%s>, which has none: remove it", spec.Name)
	}
	if len(e.Children) > 0 {
		n.children = make([]*node, 0, len(e.Children))
	}
	for _, child := range e.Children {
		if c := p.element(child, n, scope); c != nil {
			n.children = append(n.children, c)
		} else {
			n.lost = true
		}
	}
	return n
}

// text reads the text of an element.
func (p *parser) text(n *node, e *Markup) {
	text := strings.TrimSpace(string(e.text))
	if text == "" {
		p.errorf(n.at, "<%s> is empty: write its text inside", n.spec.Name)
		return
	}
	text, errs := p.expand(text)
	for _, err := range errs {
		p.errorf(e.TextAt, "<%s>: %s", n.spec.Name, err.message)
	}
	n.text, n.textAt = text, e.TextAt
}

// elementSpec returns an element's row of the table. It returns nil and reports the reason for an element that is not
// allowed here, that this version refuses, or that has no effect.
func (p *parser) elementSpec(e *Markup, parent *node, scope *namespaces) *Element {
	if uri := scope.uri(e.name.Space); !knownNamespace(uri) {
		p.errorf(e.Start, "<%s> is in the namespace %s: write %s21 or %s21, or none", clip(rawName(e.name)), quote(uri), crawlNamespace, rulesNamespace)
		return nil
	}
	p.checkPrefix(e, scope)
	anywhere := p.schema.elements[e.name.Local]
	if parent == nil {
		return anywhere
	}
	spec := p.schema.inside(parent.spec, e.name.Local)
	switch {
	case anywhere == nil && p.passOver(e, parent, scope):
		return nil
	case anywhere == nil:
		known := p.schema.namesInside(parent.spec)
		p.errorf(e.Start, "unknown element <%s> in <%s>%s", clip(e.name.Local), parent.spec.Name, p.elementHint(parent.spec.Name, e.name.Local, known))
		p.as(words.Nearest(e.name.Local, known), e, scope)
		return nil
	case spec == nil:
		p.errorf(e.Start, "%s", misplaced(anywhere, parent.spec))
		p.as(anywhere.Name, e, scope)
		return nil
	}
	switch spec.Status {
	case NoEffect:
		p.inert = append(p.inert, inert{e.Start, "<" + e.name.Local + ">"})
		return nil
	case Refused:
		p.errorf(e.Start, "<%s> is not supported by this version yet", e.name.Local)
		return nil
	case Supported:
	}
	if spec.Once {
		for _, sibling := range parent.children {
			if sibling.spec == spec {
				p.errorf(e.Start, "<%s> is written twice (first at %s): one <%s> has at most one",
					e.name.Local, p.lineAndColumn(sibling.at), parent.spec.Name)
				return nil
			}
		}
	}
	return spec
}

// knownNames bounds the list of names in a message, in bytes; inManual replaces a longer one, which would hide
// the error.
const knownNames = 400

const inManual = ": the manual's page on the configuration, or sextant schema, has those that are known"

// longestName is the length above which a name cannot be a misspelt known one.
const longestName = 40

// elementHint returns what to write in place of an unknown element.
func (p *parser) elementHint(parent, name string, known []string) string {
	if p.report.full() {
		return ""
	}
	if write := words.MeantIn(parent, name, words.Elements()); write != "" {
		return ": " + write
	}
	if near := words.Nearest(name, known); near != "" {
		return ": did you mean <" + near + ">?"
	}
	list := ": known here are <" + strings.Join(known, ">, <") + ">"
	switch {
	case len(known) == 0:
		return ", which has no elements inside: remove it"
	case len(list) > knownNames:
		return inManual
	case len(name) > longestName:
		return ""
	default:
		return list
	}
}

// misplaced returns where a known element belongs.
func misplaced(spec, parent *Element) string {
	name := "<" + spec.Name + ">"
	switch {
	case spec.Role == Action && parent.Role == Condition:
		return name + " is an action and cannot stand in the condition <" + parent.Name + ">: write it behind the condition"
	case spec.Role == Condition && parent.Role == Condition:
		return name + " cannot stand in <" + parent.Name + ">: only <And>, <Or> and <Not> have conditions inside"
	case spec.Role == Condition:
		return name + " is a condition and cannot stand in <" + parent.Name + ">: its place is in a <Rule>"
	case len(spec.Parents) == 0:
		return name + " cannot stand in <" + parent.Name + ">: it is the outermost element"
	}
	return name + " cannot stand in <" + parent.Name + ">: its place is in <" + strings.Join(spec.Parents, "> or <") + ">"
}

func (p *parser) lineAndColumn(offset int) string {
	_, s, _ := strings.Cut(p.position(offset).String(), p.src.file+":")
	return s
}

// all returns the children with a name.
func (n *node) all(name string) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, child := range n.children {
			if child.spec.Name == name && !yield(child) {
				return
			}
		}
	}
}

// has reports whether a child has a role.
func (n *node) has(r Role) bool {
	return slices.ContainsFunc(n.children, func(child *node) bool { return child.spec.Role == r })
}

// attr returns the attribute of that name, nil if it is not written.
func (n *node) attr(name string) *attr {
	for i := range n.attrs {
		if n.attrs[i].spec.Name == name {
			return &n.attrs[i]
		}
	}
	return nil
}

// written reports whether the attribute is present and valid.
func (n *node) written(name string) bool { return n.attr(name) != nil }

// missing reports whether the attribute is absent.
func (n *node) missing(name string) bool {
	return !n.written(name) && !slices.Contains(n.faulty, name)
}

// valueAt returns the offset of the attribute's value, else that of the element.
func (n *node) valueAt(name string) int {
	if a := n.attr(name); a != nil {
		return a.value
	}
	return n.at
}

// str returns the attribute's value or its default.
func (n *node) str(name string) string {
	if a := n.attr(name); a != nil {
		return a.text
	}
	return n.spec.attribute(name).Default
}
