package config

import (
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules"
)

// UntakenSources warns of rules that give documents a source which no target takes: those documents leave all targets.
func (c *Crawler) UntakenSources() []actionrules.Warning {
	var warnings []actionrules.Warning
	for i := range c.Rules.Rules {
		r := &c.Rules.Rules[i]
		for j := range r.Then {
			a := &r.Then[j]
			takes := func(p Push) bool { return p.Source == nil || *p.Source == a.Name }
			if a.Verb == actionrules.SetSource && !slices.ContainsFunc(c.Push, takes) {
				warnings = append(warnings, actionrules.Warning{At: r.At, Text: fmt.Sprintf(
					"no target takes the source %s: each <Push> has another one, so that no index gets these documents, and those that have them lose them", quote(a.Name))})
			}
		}
	}
	return warnings
}
