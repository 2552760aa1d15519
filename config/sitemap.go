package config

import (
	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// URLSource is a Sitemap or Feed element.
type URLSource struct {
	URL weburl.URL
	// Feed says that it is a feed, IndexItems that its items are documents.
	Feed, IndexItems bool
	At               actionrules.Position
}

// Sitemaps bound what is read of sitemaps.
type Sitemaps struct {
	FromRobots bool // crawlSitemaps
	MaxBytes   int64
	MaxLinks   int
}

// urlSources reads the Sitemap and Feed elements of a Crawler.
func (p *parser) urlSources(crawler *node, c *Crawler) {
	c.Sitemaps = Sitemaps{
		FromRobots: crawler.boolean("crawlSitemaps"),
		MaxBytes:   crawler.number("sitemapMaxBytes"), MaxLinks: int(crawler.number("sitemapMaxLinks")),
	}
	first := make(map[string]actionrules.Position)
	for _, n := range crawler.children {
		if n.spec.Name != "Sitemap" && n.spec.Name != "Feed" {
			continue
		}
		a := n.attr("url")
		if a == nil {
			continue
		}
		s := URLSource{Feed: n.spec.Name == "Feed", At: p.position(a.value)}
		var err error
		if s.URL, err = weburl.Parse(a.text); err != nil {
			continue // reported with the value
		}
		if at, twice := first[s.URL.String()]; twice {
			p.errorf(a.value, "%s is the url of another Sitemap or Feed (at %d:%d): remove one", quote(s.URL.String()), at.Line, at.Column)
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
		if s.Feed {
			element = "<Feed>"
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
		if s.Feed && !c.SmartRefresh && c.MinimumAged == 0 && len(c.Refreshes) == 0 {
			p.report.notef(s.At, "<Feed> is read once: new items are found with smartRefresh=\"true\", minimumAgedS, or <Refresh>")
		}
	}
}
