package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beevik/etree"
)

// DefaultVersion is the version of CloudView's namespaces in new files.
const DefaultVersion = "21"

// SchemaDocument is one document of the XML schema of CrawlConfig.xml.
type SchemaDocument struct {
	// Name is the file name in the documents' references to each other.
	Name string
	// Namespace is the namespace that it describes.
	Namespace string
	Text      []byte
}

// Schema returns the XML schema (XSD 1.0) of CrawlConfig.xml for a version of CloudView's two namespaces, such as "21":
// first the document of crawls, by which a file is validated, then that of conditions. Each imports the other by its
// Name, because conditions may occur in both namespaces.
//
// It is generated from the parser's table, and allows what this version supports: it omits what the reference calls
// refused. The parser checks what XSD 1.0 cannot express: whether patterns compile, what belongs to which kind of Push,
// values that depend on others, and files that are named.
func Schema(version string) ([]SchemaDocument, error) {
	if version == "" || strings.Trim(version, "0123456789.") != "" {
		return nil, fmt.Errorf("%s is not a version of CloudView's namespaces: write one such as %s", quote(version), DefaultVersion)
	}
	s := &schemaWriter{
		table: newSchema(),
		crawl: SchemaDocument{Name: "crawl.v" + version + ".xsd", Namespace: crawlNamespace + version},
		rules: SchemaDocument{Name: "actionrules.v" + version + ".xsd", Namespace: rulesNamespace + version},
	}
	var err error
	if s.crawl.Text, err = s.crawlDocument(); err != nil {
		return nil, err
	}
	if s.rules.Text, err = s.rulesDocument(); err != nil {
		return nil, err
	}
	return []SchemaDocument{s.crawl, s.rules}, nil
}

// SchemaText returns one of the two documents; both arguments may be empty.
func SchemaText(version, part string) ([]byte, error) {
	if version == "" {
		version = DefaultVersion
	}
	documents, err := Schema(version)
	if err != nil {
		return nil, fmt.Errorf("namespace: %w", err)
	}
	switch part {
	case "", "crawl":
		return documents[0].Text, nil
	case "actionrules":
		return documents[1].Text, nil
	}
	return nil, fmt.Errorf("part %q: write crawl or actionrules", part)
}

// schemaWriter generates a schema from the table. Each element is in a group of its name, so that only CrawlConfig can
// be the top-level element.
type schemaWriter struct {
	table        *schema
	crawl, rules SchemaDocument
}

func (s *schemaWriter) crawlDocument() ([]byte, error) {
	doc, root := s.document(s.crawl, s.rules)
	config := s.table.elements["CrawlConfig"]
	s.element(root, config)
	for _, e := range Elements() {
		if e.Name != config.Name && e.Role != Condition && e.Status != Refused {
			s.element(define(root, "group", e.key()).CreateElement("xs:sequence"), &e)
		}
	}
	actions := define(root, "group", "action").CreateElement("xs:choice")
	for _, e := range actionElements() {
		reference(actions, "crawl:"+e.Name)
	}
	s.conditions(root)
	return written(doc)
}

func (s *schemaWriter) rulesDocument() ([]byte, error) {
	doc, root := s.document(s.rules, s.crawl)
	commonTypes(root)
	s.conditions(root)
	for _, e := range conditionElements() {
		if e.Role == Condition {
			s.content(define(root, "complexType", e.Name), &e)
		}
	}
	return written(doc)
}

// document begins a schema document that imports the other one.
func (s *schemaWriter) document(this, other SchemaDocument) (*etree.Document, *etree.Element) {
	doc := etree.NewDocument()
	doc.CreateProcInst("xml", `version="1.0" encoding="UTF-8"`)
	root := doc.CreateElement("xs:schema")
	for _, a := range [][2]string{
		{"xmlns:xs", "http://www.w3.org/2001/XMLSchema"},
		{"xmlns:crawl", s.crawl.Namespace},
		{"xmlns:ar", s.rules.Namespace},
		{"targetNamespace", this.Namespace},
		{"elementFormDefault", "qualified"},
	} {
		root.CreateAttr(a[0], a[1])
	}
	load := root.CreateElement("xs:import")
	load.CreateAttr("namespace", other.Namespace)
	load.CreateAttr("schemaLocation", other.Name)
	return doc, root
}

// conditions writes the group of conditions of a document's own namespace; their types are in the rules' document.
func (s *schemaWriter) conditions(root *etree.Element) {
	choice := define(root, "group", "condition").CreateElement("xs:choice")
	for _, e := range conditionElements() {
		if e.Role != Condition {
			continue
		}
		el := declare(choice, &e)
		el.CreateAttr("type", "ar:"+e.Name)
		if e.attribute("val") != nil { // one of the two spellings, not both
			identity(el, "key", e.Name+".value", ".", "@val|@value")
		}
	}
}

// element declares an element with its type and its constraints.
func (s *schemaWriter) element(parent *etree.Element, e *Element) {
	el := declare(parent, e)
	t := el.CreateElement("xs:complexType")
	if e.Open {
		t.CreateAttr("mixed", "true")
		anyNumber(t.CreateElement("xs:sequence").CreateElement("xs:any")).CreateAttr("processContents", "skip")
		t.CreateElement("xs:anyAttribute").CreateAttr("processContents", "skip")
		return
	}
	s.content(t, e)
	for _, child := range s.children(e.key()) {
		if child.Once && len(s.children(child.key())) == 0 {
			identity(el, "unique", e.Name+"."+child.Name, "crawl:"+child.Name, ".")
		}
		for _, a := range child.Attributes {
			if a.Unique {
				identity(el, "unique", e.Name+"."+child.Name+"."+a.Name, "crawl:"+child.Name, "@"+a.Name)
			}
		}
	}
}

// content writes the content of an element, and its attributes.
func (s *schemaWriter) content(t *etree.Element, e *Element) {
	children := s.children(e.key())
	switch {
	case e.Name == "Rule":
		sequence := t.CreateElement("xs:sequence")
		conditions(sequence)
		reference(sequence, "crawl:action").CreateAttr("maxOccurs", "unbounded")
	case e.Name == "Fetch":
		settings := slices.DeleteFunc(children, func(c *Element) bool { return c.Role == Condition })
		sequence := t.CreateElement("xs:sequence")
		s.orders(sequence, settings, nil)
		behind := sequence.CreateElement("xs:sequence")
		behind.CreateAttr("minOccurs", "0")
		conditions(behind)
		s.orders(behind, settings, nil)
	case e.key() == "PageField", e.Name == "MainContent", e.Name == "Chunks", e.Name == "Refresh":
		conditions(t.CreateElement("xs:sequence")).CreateAttr("minOccurs", "0")
	case e.Name == "Not", e.Name == "Throttle":
		conditions(t.CreateElement("xs:sequence"))
	case len(children) > 0 && e.Role == Condition:
		conditions(t.CreateElement("xs:sequence")).CreateAttr("maxOccurs", "unbounded")
	case len(children) > 0:
		s.mixture(t, children)
	case e.Text:
		t = extension(t, "xs:string")
	default:
		t = extension(t, "ar:nothing")
	}
	for i := range e.Attributes {
		attribute(t, &e.Attributes[i])
	}
	foreign := t.CreateElement("xs:anyAttribute") // xsi:* is always allowed
	foreign.CreateAttr("namespace", "http://www.w3.org/XML/1998/namespace")
	foreign.CreateAttr("processContents", "lax")
}

// mixture allows children in any order, after the first required one, if any. The constraints of element limit how
// often they occur; those compare simple content, so for children that contain elements the grammar lists every order.
func (s *schemaWriter) mixture(t *etree.Element, children []*Element) {
	var once []*Element
	children = slices.DeleteFunc(children, func(e *Element) bool {
		if e.Once && len(s.children(e.key())) > 0 {
			once = append(once, e)
			return true
		}
		return false
	})
	sequence := t.CreateElement("xs:sequence")
	if i := slices.IndexFunc(children, func(e *Element) bool { return e.Needed }); i >= 0 {
		s.orders(sequence, slices.Delete(slices.Clone(children), i, i+1), nil)
		reference(sequence, "crawl:"+children[i].key())
	}
	s.orders(sequence, children, once)
}

// orders writes a grammar for any number of the elements in many, mixed with at most one of each in once.
func (s *schemaWriter) orders(sequence *etree.Element, many, once []*Element) {
	choice := anyNumber(sequence.CreateElement("xs:choice"))
	for _, e := range many {
		reference(choice, "crawl:"+e.key())
	}
	if len(once) == 0 {
		return
	}
	next := sequence.CreateElement("xs:choice")
	next.CreateAttr("minOccurs", "0")
	for i, e := range once {
		then := next.CreateElement("xs:sequence")
		reference(then, "crawl:"+e.key())
		s.orders(then, many, slices.Delete(slices.Clone(once), i, i+1))
	}
}

// children returns the elements that this version allows in an element.
func (s *schemaWriter) children(key string) []*Element {
	var out []*Element
	for _, child := range s.table.children[key] {
		if e := s.table.elements[child]; e.Status != Refused {
			out = append(out, e)
		}
	}
	return out
}
