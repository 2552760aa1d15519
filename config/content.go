package config

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// content reads what becomes of a page.
func (p *parser) content(crawler *node, c *Crawler) {
	for _, n := range crawler.children {
		switch n.spec.Name {
		case "RemoveElements":
			p.removeElements(n, c)
		case "Converter":
			p.converter(n, c)
		case "MetadataMapping":
			c.Mapping = &policy.Mapping{KeepUnmapped: n.boolean("keepUnmapped")}
			for _, m := range n.children {
				p.mapping(m, c.Mapping)
			}
		}
	}
}

// removeElements puts names, classes and selectors into one list.
func (p *parser) removeElements(n *node, c *Crawler) {
	for _, list := range [...]struct{ attribute, before string }{{"names", ""}, {"classes", "."}, {"selectors", ""}} {
		for item := range strings.SplitSeq(n.str(list.attribute), ",") {
			item = strings.TrimSpace(item)
			if item == "" {
				continue
			}
			if _, err := extract.NewRemoval([]string{list.before + item}); err != nil {
				p.errorf(n.valueAt(list.attribute), "%s: %v", list.attribute, err)
				continue
			}
			if list.attribute == "names" && strings.ContainsAny(item, ".#") {
				p.errorf(n.valueAt("names"), "names=%s is not the name of an element: write it in selectors", quote(item))
				continue
			}
			c.Remove = append(c.Remove, list.before+item)
		}
	}
}

func (p *parser) mapping(n *node, to *policy.Mapping) {
	m := policy.Map{To: strings.TrimSpace(n.str("to")), Join: n.str("join"), Default: n.str("default")}
	if n.spec.Name == "MapHeader" {
		m.Header = n.str("field")
		if n.written("field") && !httpguts.ValidHeaderFieldName(m.Header) {
			p.errorf(n.valueAt("field"), "field=%s is no name of a header field: write one such as Content-Language", quote(m.Header))
		}
	} else {
		m.From = strings.ToLower(strings.TrimSpace(n.str("from")))
	}
	if n.written("to") && m.To == "" && (m.Join != "" || m.Default != "") {
		p.errorf(n.valueAt("to"), "to is empty, which drops the meta: remove join and default, or write where it goes")
	}
	to.Maps = append(to.Maps, m)
}
