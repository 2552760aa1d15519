package review

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
)

// PreviewCause is a rule or gate of the new settings that puts URLs into a group, with their number. Its names are a
// contract.
type PreviewCause struct {
	// Gate is rules for a rule, default if no rule applies, targets for a push source without a target, or else the gate
	// of the crawl space. File, Line and Rule are its position and text.
	crawlspace.Reason
	Count   uint64 `json:"count"`
	Example string `json:"example"` // the first of its URLs
}

// String returns text for people.
func (c PreviewCause) String() string {
	switch c.Gate { //nolint:exhaustive // the gates of the crawl space word themselves
	case policy.GateLists:
		return c.Rule
	case policy.GateTargets:
		if c.Line == 0 {
			return c.Rule
		}
		return fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.Rule)
	case crawlspace.GateDefault:
		return "no rule: the state before the first rule"
	}
	return c.Reason.String()
}

// maxCauses is the number of causes listed per group, those with the most URLs. causesCounted is the number counted
// separately; beyond it, causes that differ only in their words, such as a name in a gate's answer, are merged.
const (
	maxCauses     = 100
	causesCounted = 10_000
)

// countCause counts one URL for the cause of its group.
func (g *PreviewGroup) countCause(by crawlspace.Reason, url string) {
	if g.causes == nil {
		g.causes = map[crawlspace.Reason]*PreviewCause{}
	}
	c := g.causes[by]
	if c == nil && len(g.causes) >= causesCounted {
		by = crawlspace.Reason{Gate: by.Gate}
		c = g.causes[by]
	}
	if c == nil {
		c = &PreviewCause{Reason: by, Example: url}
		g.causes[by] = c
	}
	c.Count++
}

// setCauses sets By to the causes with the most URLs, highest count first.
func (g *PreviewGroup) setCauses() {
	g.By = []PreviewCause{} // [] in JSON
	for _, c := range g.causes {
		g.By = append(g.By, *c)
	}
	slices.SortFunc(g.By, func(a, b PreviewCause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Gate, b.Gate), cmp.Compare(a.Rule, b.Rule))
	})
	g.By = g.By[:min(len(g.By), maxCauses)]
	g.causes = nil
}

// cause returns the final reason for a URL's group.
func (o *review) cause(e effect) crawlspace.Reason {
	switch e {
	case excluded, elsewhere:
		return o.policy.Cause(&o.Verdict)
	case unindexed:
		if o.link.Exempt {
			return crawlspace.Reason{Gate: crawlspace.GateDefault} // a source is no document
		}
		if o.gone {
			return crawlspace.Reason{Gate: policy.GateLists, Rule: o.words}
		}
		return o.policy.NoIndexCause(&o.Verdict)
	case readmitted:
		return o.policy.CauseOf(&o.Verdict, actionrules.DimensionAccept)
	case leaves:
		return o.policy.CauseOf(&o.Verdict, actionrules.DimensionSource)
	case unaffected, moved, kept, reindexed:
	}
	return o.policy.CauseOf(&o.Verdict,
		actionrules.DimensionIndex, actionrules.DimensionFollow, actionrules.DimensionPriority)
}
