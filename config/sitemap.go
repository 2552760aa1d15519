package config

import (
	"errors"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/weburl"
)

// URLSource is a Sitemap, Feed or XMLDocuments element.
type URLSource struct {
	URL weburl.URL
	// Feed says that it is a feed, IndexItems that its items are documents.
	Feed, IndexItems bool
	XML              *XMLDocuments // of its element, else nil
	At               actionrules.Position
}

// XMLDocuments says what in an XML file is a document, and what of it is what.
type XMLDocuments struct {
	Path, Link, Title, Text feeds.Path
	Date                    *feeds.Path // nil: none
	HTML                    bool
	Metas                   []XMLMeta
}

// XMLMeta is a meta of such documents.
type XMLMeta struct {
	Name string
	Path feeds.Path
}

// xmlDocuments reads the paths of an element; nil if one is wrong.
func (p *parser) xmlDocuments(n *node) *XMLDocuments {
	d := &XMLDocuments{HTML: n.boolean("html")}
	ok := p.xmlPath(n, "path", feeds.ElementPath, &d.Path)
	ok = p.xmlPath(n, "link", feeds.ParsePath, &d.Link) && ok
	ok = p.xmlPath(n, "title", feeds.ParsePath, &d.Title) && ok
	ok = p.xmlPath(n, "text", feeds.ParsePath, &d.Text) && ok
	if n.written("date") {
		d.Date = new(feeds.Path)
		ok = p.xmlPath(n, "date", feeds.ParsePath, d.Date) && ok
	}
	for _, m := range n.children {
		meta := XMLMeta{Name: m.str("name")}
		ok = p.xmlPath(m, "path", feeds.ParsePath, &meta.Path) && ok
		d.Metas = append(d.Metas, meta)
	}
	if !ok {
		return nil
	}
	return d
}

// xmlPath reads one path; what is missing was reported.
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

// Sitemaps bound what is read of sitemaps.
type Sitemaps struct {
	FromRobots bool // crawlSitemaps
	MaxBytes   int64
	MaxLinks   int
	MaxPerHost int
}

// urlSources reads the Sitemap, Feed and XMLDocuments elements of a Crawler.
func (p *parser) urlSources(crawler *node, c *Crawler) {
	c.Sitemaps = Sitemaps{
		FromRobots: crawler.boolean("crawlSitemaps"),
		MaxBytes:   crawler.number("sitemapMaxBytes"), MaxLinks: int(crawler.number("sitemapMaxLinks")),
		MaxPerHost: int(crawler.number("sitemapMaxPerHost")),
	}
	first := make(map[string]actionrules.Position)
	for _, n := range crawler.children {
		if n.spec.Name != "Sitemap" && n.spec.Name != "Feed" && n.spec.Name != "XMLDocuments" {
			continue
		}
		a := n.attr("url")
		if a == nil {
			continue
		}
		s := URLSource{Feed: n.spec.Name == "Feed", At: p.position(a.value)}
		if n.spec.Name == "XMLDocuments" {
			if s.XML = p.xmlDocuments(n); s.XML == nil {
				continue
			}
		}
		var err error
		if s.URL, err = weburl.Parse(a.text); err != nil {
			continue // reported with the value
		}
		if at, twice := first[s.URL.String()]; twice {
			p.errorf(a.value, "%s is the url of another Sitemap, Feed or XMLDocuments (at %d:%d): remove one", quote(s.URL.String()), at.Line, at.Column)
			continue
		}
		first[s.URL.String()] = s.At
		if s.Feed {
			s.IndexItems = n.boolean("indexItems")
		}
		c.URLSources = append(c.URLSources, s)
	}
}

// idleSources warns of sources that are never read, or only once.
func (p *parser) idleSources(c *Crawler) {
	for _, s := range c.URLSources {
		element := "<Sitemap>"
		switch {
		case s.Feed:
			element = "<Feed>"
		case s.XML != nil:
			element = "<XMLDocuments>"
		}
		if v := c.Gates.Judge(crawlspace.Link{URL: s.URL, Exempt: true}); !v.Allowed {
			p.report.warnf(s.At, "%s is never read: the %s refuses its url", element, v.Reason)
			continue
		}
		if !c.Engine.Decide(s.URL).Crawl() {
			if rule, _ := c.Engine.Explain(s.URL).ExcludedBy(); rule >= 0 {
				p.report.warnf(s.At, "%s is never read: the rule at %s ignores its url", element, c.Rules.Rules[rule].At)
				continue
			}
		}
		if (s.Feed || s.XML != nil) && !c.SmartRefresh && c.MinimumAged == 0 && len(c.Refreshes) == 0 {
			p.report.notef(s.At, "%s is read once: what is new is found with smartRefresh=\"true\", minimumAgedS, or <Refresh>", element)
		}
	}
}
