package config

import (
	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// warnings adds what a Crawler allows but hardly means, if there are no errors:
// rules that are left out would make others look idle.
func (p *parser) warnings(c *Crawler) {
	if len(p.report.Errors) > 0 {
		return
	}
	p.warnAll(c, c.Engine.Warnings())
	p.warnAll(c, idleRules(c.Rules.Rules))
	if p.schema.elements["CrawlSpace"].Status == Refused {
		return // its advice could not be followed
	}
	roots := make([]crawlspace.Link, len(c.Rules.Roots))
	for i, r := range c.Rules.Roots {
		roots[i].URL = r.URL
	}
	p.warnAll(c, c.Gates.Warnings(roots, func(u weburl.URL) bool { return !c.Engine.Decide(u).Crawl() }))
}

func (p *parser) warnAll(c *Crawler, warnings []actionrules.Warning) {
	for _, w := range warnings {
		if w.At == (actionrules.Position{}) {
			w.At = c.At
		}
		p.report.warnf(w.At, "%s", w.Text)
	}
}
