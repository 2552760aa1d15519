package policy

import (
	"strconv"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
)

// GateTargets is the gate of a Cause that consists of a push source without a target. File and line are those of the
// rule that sets the source.
const GateTargets crawlspace.Gate = "targets"

// GateLists is the gate of a Cause that is an <XMLDocuments> that is no longer in the configuration.
const GateLists crawlspace.Gate = "lists"

// Cause returns the final reason why a URL is outside: a gate, a rule, or the absence of a rule that accepts it.
func (p *Policy) Cause(v *Verdict) crawlspace.Reason {
	if g := v.Gate; renamed(v) {
		return crawlspace.Reason{Gate: g.Gate, File: g.File, Line: g.Line} // without each URL's other name
	} else if g.Gate != "" {
		return g
	}
	i, _ := p.Engine.ExplainMatches(v.URL).ExcludedBy()
	return p.ruleCause(i)
}

// CauseOf returns the last rule that set one of the given dimensions for a URL in scope.
func (p *Policy) CauseOf(v *Verdict, of ...actionrules.Dimension) crawlspace.Reason {
	last := -1
	x := p.Engine.ExplainMatches(v.URL)
	for _, d := range of {
		last = max(last, x.Last[d])
	}
	return p.ruleCause(last)
}

// NoIndexCause returns the reason why a URL that is inside is not indexed.
func (p *Policy) NoIndexCause(v *Verdict) crawlspace.Reason {
	if reason, killed := p.Space.Killed(v.URL); killed && v.Decision.Index {
		return reason
	}
	if !v.Decision.Index || p.Settings.Taken(v.Decision.Source) {
		return p.CauseOf(v, actionrules.DimensionIndex)
	}
	c := p.CauseOf(v, actionrules.DimensionSource)
	c.Gate, c.Rule = GateTargets, "no target accepts the "+p.Settings.untaken(v.Decision.Source)
	return c
}

// ruleCause returns the cause for a rule, by its index; -1 means no rule.
func (p *Policy) ruleCause(i int) crawlspace.Reason {
	if i < 0 {
		return crawlspace.Reason{Gate: crawlspace.GateDefault}
	}
	at := p.Settings.Rules.Rules[i].At
	return crawlspace.Reason{Gate: crawlspace.GateRules, File: at.File, Line: at.Line, Rule: "rule " + strconv.Itoa(i+1)}
}
