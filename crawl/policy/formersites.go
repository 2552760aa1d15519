package policy

import (
	"errors"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// formerSites are the places at which sites were crawled before they moved. Their stored pages are outside because of
// the move, not because of the operator's rules: the document of a page stays until the page at the new place is in the
// index.
type formerSites struct {
	engine *actionrules.Engine // the rules as if the sites were still there
	to     map[string]string   // new place by origin
}

// newFormerSites compiles rules for the places that sites of roots have left, or returns nil.
func newFormerSites(rules actionrules.RuleSet, roots []actionrules.Root, moved Moves) (*formerSites, error) {
	l := formerSites{to: map[string]string{}}
	var before []actionrules.Root
	for _, root := range roots {
		m := moved[root.URL.String()]
		to := root.URL
		if place, ok := m.Place(); ok {
			to = place
		}
		for _, origin := range m.Left {
			home, err := weburl.Parse(origin + "/")
			if err != nil {
				continue
			}
			for _, o := range OriginsOf(home) {
				l.to[o] = to.Origin()
			}
			before = append(before, actionrules.Root{URL: home, Site: true})
		}
	}
	if len(before) == 0 {
		return nil, nil //nolint:nilnil // no site has moved
	}
	rules.Roots = before
	var errs []error
	l.engine, errs = actionrules.Compile(rules)
	return &l, errors.Join(errs...)
}

// NewURL returns the new URL of a page that is outside only because its site has moved or has another name, or "".
func (p *Policy) NewURL(v *Verdict) string {
	if renamed(v) {
		return v.URL.String()
	}
	return p.moved(v)
}

// moved returns the new URL of a page that is outside only because its site has moved, or "".
func (p *Policy) moved(v *Verdict) string {
	if p.former == nil || v.Status != StatusExcluded || v.Gate.Gate != "" && v.Gate.Gate != crawlspace.GateStartURL {
		return ""
	}
	to, ok := p.former.to[v.URL.Origin()]
	if !ok || !p.former.engine.Decide(v.URL).Crawl() {
		return ""
	}
	return to + v.URL.PathAndQuery()
}
