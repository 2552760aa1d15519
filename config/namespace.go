package config

import (
	"encoding/xml"
	"strings"
)

// The namespaces of CloudView's files, without their version.
const (
	crawlNamespace = "exa:com.exalead.mercury.mami.crawl.v"
	rulesNamespace = "exa:com.exalead.actionrules.v"
)

// namespaces are the declarations of one element, linked to those of the elements around it.
type namespaces struct {
	uris  map[string]string // prefix ("" is the default one): URI
	outer *namespaces
}

// enter adds the declarations of e, if it has any.
func (s *namespaces) enter(e *Markup) *namespaces {
	inner := s
	for _, a := range e.attrs {
		if !isDeclaration(a) {
			continue
		}
		if inner == s {
			inner = &namespaces{uris: make(map[string]string), outer: s}
		}
		prefix := a.Name.Local
		if a.Name.Space == "" {
			prefix = ""
		}
		inner.uris[prefix] = a.Value
	}
	return inner
}

// uri returns the namespace of a prefix; "" if it is not declared.
func (s *namespaces) uri(prefix string) string {
	for ; s != nil; s = s.outer {
		if uri, ok := s.uris[prefix]; ok {
			return uri
		}
	}
	return ""
}

func isDeclaration(a xml.Attr) bool {
	return a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns"
}

// knownNamespace reports whether elements of a namespace are read: any version of CloudView's two, and none. Real files
// omit declarations, so an undeclared prefix counts as none.
func knownNamespace(uri string) bool {
	if uri == "" {
		return true
	}
	version, ok := strings.CutPrefix(uri, crawlNamespace)
	if !ok {
		version, ok = strings.CutPrefix(uri, rulesNamespace)
	}
	return ok && version != "" && strings.Trim(version, "0123456789.") == ""
}

// checkPrefix adds a note about an undeclared prefix, once.
func (p *parser) checkPrefix(e *Markup, scope *namespaces) {
	prefix := e.name.Space
	if prefix == "" || scope.uri(prefix) != "" || p.undeclared[prefix] {
		return
	}
	p.undeclared[prefix] = true
	p.report.notef(p.position(e.Start), "the prefix %s is not declared, so other programs reject the file: write xmlns:%s=\"%s21\" in <CrawlConfig>", clip(prefix), clip(prefix), rulesNamespace)
}

// isForeign reports whether XML itself allows an attribute anywhere: declarations, xml:* and xsi:*.
func isForeign(a xml.Attr, scope *namespaces) bool {
	return isDeclaration(a) || a.Name.Space == "xml" || a.Name.Space == "xsi" ||
		a.Name.Space != "" && scope.uri(a.Name.Space) == "http://www.w3.org/2001/XMLSchema-instance"
}
