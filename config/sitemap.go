package config

import (
	"errors"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// xmlDocuments reads the paths of an element; nil if one is invalid.
func (p *parser) xmlDocuments(n *node) *policy.XMLDocuments {
	d := &policy.XMLDocuments{HTML: n.boolean("html")}
	ok := p.xmlPath(n, "path", feeds.ElementPath, &d.Path)
	ok = p.xmlPath(n, "link", feeds.ParsePath, &d.Link) && ok
	ok = p.xmlPath(n, "title", feeds.ParsePath, &d.Title) && ok
	ok = p.xmlPath(n, "text", feeds.ParsePath, &d.Text) && ok
	if n.written("date") {
		d.Date = new(feeds.Path)
		ok = p.xmlPath(n, "date", feeds.ParsePath, d.Date) && ok
	}
	for _, m := range n.children {
		meta := policy.XMLMeta{Name: m.str("name")}
		ok = p.xmlPath(m, "path", feeds.ParsePath, &meta.Path) && ok
		d.Metas = append(d.Metas, meta)
	}
	if !ok {
		return nil
	}
	return d
}

// xmlPath reads one path; a missing one was already reported.
func (p *parser) xmlPath(n *node, name string, parse func(string) (feeds.Path, error), to *feeds.Path) bool {
	path, err := parse(n.str(name))
	*to = path
	if err == nil {
		return true
	}
	if a := n.attr(name); a != nil {
		at := a.value
		if e, ok := errors.AsType[*feeds.PathError](err); ok {
			at += rawLength(p.src.data[a.value:a.end], e.Offset)
		}
		p.errorf(at, "%s: %v", p.written(a.spec, a.text), err)
	}
	return false
}

// urlSources reads the Sitemap, Feed and XMLDocuments elements of a Crawler.
func (p *parser) urlSources(crawler *node, c *Crawler) {
	first := make(map[string]actionrules.Position)
	for _, n := range crawler.children {
		if n.spec.Name != "Sitemap" && n.spec.Name != "Feed" && n.spec.Name != "XMLDocuments" {
			continue
		}
		a := n.attr("url")
		if a == nil {
			continue
		}
		s, at := policy.Source{Kind: scheduler.KindSitemap}, p.position(a.value)
		switch n.spec.Name {
		case "Feed":
			s.Kind, s.IndexItems = scheduler.KindFeed, n.boolean("indexItems")
		case "XMLDocuments":
			s.Kind, s.XML = scheduler.KindXML, p.xmlDocuments(n)
			if s.XML == nil {
				continue
			}
		}
		var err error
		if s.URL, err = weburl.Parse(a.text); err != nil {
			continue // reported with the value
		}
		if one, twice := first[s.URL.String()]; twice {
			p.errorf(a.value, "%s is the url of another Sitemap, Feed or XMLDocuments (at %d:%d): remove one", quote(s.URL.String()), one.Line, one.Column)
			continue
		}
		first[s.URL.String()] = at
		c.Sources, c.sources = append(c.Sources, s), append(c.sources, at)
	}
}

// idleSources warns of sources that are never read, or only once.
func (p *parser) idleSources(c *Crawler) {
	for i, s := range c.Sources {
		element, at := "<Sitemap>", c.sources[i]
		switch s.Kind {
		case scheduler.KindFeed:
			element = "<Feed>"
		case scheduler.KindXML:
			element = "<XMLDocuments>"
		case scheduler.KindPage, scheduler.KindSitemap, scheduler.KindNamedSitemap, scheduler.KindItem:
		}
		if v := c.Gates.Judge(crawlspace.Link{URL: s.URL, Exempt: true}); !v.Allowed {
			p.report.warnf(at, "%s is never read: the %s excludes its url", element, v.Reason)
			continue
		}
		if !c.Engine.Decide(s.URL).Crawl() {
			if rule, _ := c.Engine.ExplainMatches(s.URL).ExcludedBy(); rule >= 0 {
				p.report.warnf(at, "%s is never read: the rule at %s ignores its url", element, c.Rules.Rules[rule].At)
				continue
			}
		}
		if s.Kind != scheduler.KindSitemap && c.neverRefreshes() && c.Rounds == 0 {
			p.report.notef(at, "%s is read only once: to find new URLs, write smartRefresh=\"true\", minimumAgedS, <Refresh>, or <Discovery intervalS=\"3600\"/>", element)
		}
	}
}
