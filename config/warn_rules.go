package config

import (
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules"
)

// conflicts warns of rules with two actions that decide the same: the last counts.
func conflicts(rules []actionrules.Rule) []actionrules.Warning {
	var warnings []actionrules.Warning
	for i := range rules {
		var last [dimensions]*actionrules.Action
		for j := range rules[i].Then {
			a := &rules[i].Then[j]
			d := a.Verb.Dimension()
			if d >= dimensions {
				continue
			}
			if before := last[d]; before != nil {
				text := fmt.Sprintf("the rule has both <%s> and <%s>, of which the last counts: remove one", before.Verb, a.Verb)
				if before.Verb == a.Verb {
					text = fmt.Sprintf("the rule has <%s> twice, of which the last counts: remove one", a.Verb)
				}
				warnings = append(warnings, actionrules.Warning{At: rules[i].At, Text: text})
			}
			last[d] = a
		}
	}
	return warnings
}

// maxCompared bounds how many pairs of rules are compared.
const maxCompared = 20_000

// unaccepted warns of rules that index or follow what nothing accepts, and of those that
// accept what nothing indexes or follows: neither has anything crawled. It sees the simple
// cases, in which no other rule could add what is missing.
func unaccepted(set *actionrules.RuleSet) []actionrules.Warning {
	if slices.ContainsFunc(set.Roots, func(r actionrules.Root) bool { return r.Site }) {
		return nil // sites begin accepted, indexed and followed
	}
	accepting, using := set.DefaultAccept, set.DefaultIndex || set.DefaultFollow
	var accept, use []*actionrules.Rule
	for i := range set.Rules {
		r := &set.Rules[i]
		if acts(r, actionrules.Accept) {
			accept = append(accept, r)
		}
		if acts(r, actionrules.Index, actionrules.Follow) {
			use = append(use, r)
		}
	}
	if len(accept)*len(use) > maxCompared {
		return nil
	}
	var warnings []actionrules.Warning
	warn := func(r *actionrules.Rule, text string) {
		warnings = append(warnings, actionrules.Warning{At: r.At, Text: text})
	}
	for _, r := range use {
		if !accepting && !acts(r, actionrules.Accept, actionrules.Ignore) && apart(r, accept) {
			warn(r, "the rule has nothing crawled: it indexes or follows URLs that no rule accepts; write <Accept/>, too")
		}
	}
	for _, r := range accept {
		if !using && !acts(r, actionrules.Index, actionrules.Follow) && apart(r, use) {
			warn(r, "the rule has nothing crawled: it accepts URLs that no rule indexes or follows; write <Index/>, <Follow/> or both, too")
		}
	}
	return warnings
}

// acts reports whether a rule has one of some actions.
func acts(r *actionrules.Rule, verbs ...actionrules.Verb) bool {
	return slices.ContainsFunc(r.Then, func(a actionrules.Action) bool { return slices.Contains(verbs, a.Verb) })
}

// apart reports whether a rule holds for no URL for which one of the others does.
func apart(r *actionrules.Rule, others []*actionrules.Rule) bool {
	return !slices.ContainsFunc(others, func(o *actionrules.Rule) bool {
		return o != r && !contradictory(actionrules.And{Of: []actionrules.Condition{r.If, o.If}})
	})
}

// acceptsSomething reports whether anything can be accepted at all.
func acceptsSomething(set *actionrules.RuleSet) bool {
	return set.DefaultAccept || slices.ContainsFunc(set.Roots, func(r actionrules.Root) bool { return r.Site }) ||
		slices.ContainsFunc(set.Rules, func(r actionrules.Rule) bool { return acts(&r, actionrules.Accept) })
}
