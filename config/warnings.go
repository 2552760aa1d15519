package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/weburl"
)

// warnings adds warnings about a Crawler. If there are errors, it warns of single rules only: rules that are left out
// would make others look unused.
func (p *parser) warnings(c *Crawler) {
	warn := func(all ...[]actionrules.Warning) {
		for _, w := range slices.Concat(all...) {
			if w.At == (actionrules.Position{}) {
				w.At = c.At
			}
			p.report.warnf(w.At, "%s", w.Text)
		}
	}
	switch {
	case p.quick:
		return
	case len(p.report.Errors) > 0:
		warn(actionrules.DoubtfulPatterns(c.Rules.Rules), conflicts(c.Rules.Rules))
		return
	}
	warn(c.Engine.Warnings(), idleRules(c.Rules.Rules), conflicts(c.Rules.Rules), alwaysIgnored(c.Rules.Rules),
		unaccepted(&c.Rules), otherScheme(&c.Rules), shutOut(c), c.UntakenSources(),
		idleChoices("Throttle", c.throttles), idleChoices("Fetch", c.fetches), idleChoices("Refresh", c.ages),
		contradictions("Refresh", c.refreshed), contradictions("Field", c.fields), contradictions("MainContent", c.mains),
		contradictions("Chunks", c.chunked))
	p.idleSources(c)
	p.idleConverters(c)
	p.warnOfExtent(c)
	roots := make([]crawlspace.Link, len(c.Rules.Roots))
	for i, r := range c.Rules.Roots {
		roots[i].URL = r.URL
	}
	ignored := func(u weburl.URL) bool { return !c.Engine.Decide(u).Crawl() }
	converted := make([]string, len(c.Converters))
	for i := range c.Converters {
		converted[i] = c.Converters[i].MediaType
	}
	for _, w := range c.Gates.Warnings(roots, ignored, converted...) {
		if w.At == (actionrules.Position{}) { // advice about nothing that was written
			p.report.notef(c.At, "%s", w.Text)
		} else {
			p.report.warnf(w.At, "%s", w.Text)
		}
	}
}

// warnOfExtent warns of a crawl that does nothing, never refreshes, or never ends.
func (p *parser) warnOfExtent(c *Crawler) {
	switch {
	case len(c.Rules.Roots) > 0:
	case len(c.Sources) == 0:
		p.report.warnf(c.At, "there is no start URL, so nothing is crawled: write <Root url=\"http://...\"/>, or add URLs with sextant add")
	case c.Space.StartURLMatch != nil && (c.Space.StartURLMatch.Host || c.Space.StartURLMatch.Scheme):
		p.report.warnf(c.sources[0], "nothing listed here is crawled: <StartURLMatch> has no start URL to compare with; remove it, or write a <Root>")
	case c.followsLinks() && !acceptsSomething(&c.Rules):
		p.report.warnf(c.sources[0], "nothing listed here is crawled, because no rule accepts it: write a <Root>, a rule with <Accept/>, or <Discovery enabled=\"false\"/>")
	}
	switch {
	case !c.neverRefreshes():
	case c.Rounds > 0 && c.listsAll():
	case c.Rounds > 0:
		what := "start URLs"
		switch {
		case c.ListsOnly:
			what = "sitemaps, feeds and XML files"
		case len(c.Sources) > 0:
			what = "start URLs, sitemaps, feeds and XML files"
		}
		p.report.warnf(c.At, "intervalS refetches only %s: the index keeps other pages as they are, even if they change or disappear; "+
			"write smartRefresh=\"true\", minimumAgedS, or <Refresh schedule=\"@daily\"/>", what)
	default:
		p.report.warnf(c.At, "nothing is ever fetched again: the index keeps pages as they are, even if they change or disappear; "+
			"write smartRefresh=\"true\", minimumAgedS, or <Refresh schedule=\"@daily\"/>")
	}
	if len(c.Rules.Roots) > 0 && c.Traps == nil && c.Space.QueryFilter == nil && c.Space.MaxLinkDepth == nil {
		p.report.notef(c.At, "no setting limits a site with endless links, such as a calendar: write <Traps/>, <QueryFilter/> or <CrawlSpace maxLinkDepth=\"...\"/>")
	}
}

// followsLinks reports whether Discovery is on.
func (c *Crawler) followsLinks() bool {
	return c.Space.MaxLinkDepth == nil || c.Space.MaxLinkDepth.Max > 0
}

// listsAll reports whether all documents are contained in lists.
func (c *Crawler) listsAll() bool {
	return len(c.Sources) > 0 && (c.ListsOnly || len(c.Rules.Roots) == 0) && !slices.ContainsFunc(c.Sources, func(s policy.Source) bool { return s.XML == nil && !s.IndexItems })
}

// neverRefreshes reports whether nothing makes a URL due again.
func (c *Crawler) neverRefreshes() bool {
	return !c.Frontier.SmartRefresh && c.Frontier.MinimumAged == 0 && len(c.Refreshes) == 0
}

// warnOfPermission warns of settings that require a site owner's permission.
func (p *parser) warnOfPermission(n *node) {
	for _, about := range []struct{ name, does string }{
		{"ignoreRobotsTxt", "fetches pages that the sites' owners forbid"},
		{"ignoreNofollow", "follows links that the sites' owners forbid to follow"},
		{"ignoreNoindex", "indexes pages that the sites' owners forbid to index"},
	} {
		if n.spec.attribute(about.name) == nil {
			continue
		}
		if a := n.attr(about.name); a != nil && isTrue(a.text) {
			p.warnf(a.name, "%s %s: ask for their permission first", about.name, about.does)
		}
	}
}

// inert is a known setting without effect.
type inert struct {
	at   int
	name string
}

// warnOfInert adds one note about the settings without effect, at the first position.
func (p *parser) warnOfInert() {
	if len(p.inert) == 0 {
		return
	}
	first := slices.MinFunc(p.inert, func(a, b inert) int { return cmp.Compare(a.at, b.at) })
	var names []string
	for _, i := range p.inert {
		if !slices.Contains(names, i.name) {
			names = append(names, i.name)
		}
	}
	if len(names) == 1 {
		p.report.notef(p.position(first.at), "%s has no effect here", names[0])
		return
	}
	p.report.notef(p.position(first.at), "none of %s has an effect here", strings.Join(names, ", "))
}
