package config

import (
	"slices"

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
	for _, w := range slices.Concat(c.Engine.Warnings(), idleRules(c.Rules.Rules), idleChoices("Throttle", c.throttles), idleChoices("Fetch", c.fetches)) {
		if w.At == (actionrules.Position{}) {
			w.At = c.At
		}
		p.report.warnf(w.At, "%s", w.Text)
	}
	p.idleSources(c)
	if c.neverRefreshes() {
		p.report.warnf(c.At, "nothing is ever fetched again: what changes, or is gone, stays in the index as it is; "+
			"write smartRefresh=\"true\", minimumAgedS, or <Refresh schedule=\"@daily\"/>")
	}
	roots := make([]crawlspace.Link, len(c.Rules.Roots))
	for i, r := range c.Rules.Roots {
		roots[i].URL = r.URL
	}
	ignored := func(u weburl.URL) bool { return !c.Engine.Decide(u).Crawl() }
	for _, w := range c.Gates.Warnings(roots, ignored) {
		if w.At == (actionrules.Position{}) { // about nothing that was written: advice
			p.report.notef(c.At, "%s", w.Text)
		} else {
			p.report.warnf(w.At, "%s", w.Text)
		}
	}
}

// neverRefreshes says that nothing makes a URL due again.
func (c *Crawler) neverRefreshes() bool {
	return !c.Frontier.SmartRefresh && c.Frontier.MinimumAged == 0 && len(c.Refreshes) == 0
}
