package config

import (
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules"
)

// UntakenSources warns of rules that set a source that no target takes: such documents leave all targets.
func (c *Crawler) UntakenSources() (warnings []actionrules.Warning) {
	for i := range c.Rules.Rules {
		r := &c.Rules.Rules[i]
		for _, a := range r.Then {
			if a.Verb == actionrules.SetSource && !c.Taken(a.Name) {
				warnings = append(warnings, actionrules.Warning{At: r.At, Text: fmt.Sprintf(
					"no <Push> accepts the source %q, so its documents are not indexed, and are deleted from the indexes that have them: "+
						"correct the name, or write a <Push> with that source or without one", a.Name)})
			}
		}
	}
	return warnings
}
