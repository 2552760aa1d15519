package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// conflicts warns of rules with two actions for the same decision: the last counts.
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
				text := fmt.Sprintf("the rule has both <%s> and <%s>, and only the last applies: remove one", before.Verb, a.Verb)
				if before.Verb == a.Verb {
					text = fmt.Sprintf("the rule has <%s> twice, and only the last applies: remove one", a.Verb)
				}
				warnings = append(warnings, actionrules.Warning{At: rules[i].At, Text: text})
			}
			last[d] = a
		}
		if d := actionrules.Ignore.Dimension(); last[d] != nil && last[d].Verb == actionrules.Ignore && acts(&rules[i], actionrules.Index, actionrules.Follow) {
			warnings = append(warnings, actionrules.Warning{At: rules[i].At, Text: "the rule ignores its URLs, so its <Index> or <Follow> has no effect: remove one of the two"})
		}
	}
	return warnings
}

// alwaysIgnored warns of rules that ignore their URLs and also set other properties of them, if no later rule can
// accept them again.
func alwaysIgnored(rules []actionrules.Rule) []actionrules.Warning {
	var warnings []actionrules.Warning
	var accept []*actionrules.Rule // after the examined rule
	for i, compared := len(rules)-1, 0; i >= 0 && compared <= maxCompared; i-- {
		r := &rules[i]
		at := slices.IndexFunc(r.Then, func(a actionrules.Action) bool {
			return a.Verb == actionrules.SetSource || a.Verb == actionrules.AddMeta || a.Verb == actionrules.Priority
		})
		if at >= 0 && acts(r, actionrules.Ignore) && !acts(r, actionrules.Accept) {
			if compared += len(accept); apart(r, accept) {
				warnings = append(warnings, actionrules.Warning{At: r.At, Text: fmt.Sprintf(
					"the rule ignores its URLs, and no later rule accepts them, so its <%s> has no effect: remove one of the two", r.Then[at].Verb)})
			}
		}
		if acts(r, actionrules.Accept) {
			accept = append(accept, r)
		}
	}
	return warnings
}

// maxCompared bounds how many pairs of rules are compared.
const maxCompared = 20_000

// unaccepted warns of rules that index or follow URLs that no rule accepts, and of rules that accept URLs that no rule
// indexes or follows: neither has any effect. It finds the simple cases, in which no other rule can add the missing
// action.
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
			warn(r, "the rule has no effect: it indexes or follows URLs that no rule accepts; write <Accept/>, too")
		}
	}
	for _, r := range accept {
		if !using && !acts(r, actionrules.Index, actionrules.Follow) && apart(r, use) {
			warn(r, "the rule has no effect: it accepts URLs that no rule indexes or follows; write <Index/>, <Follow/> or both, too")
		}
	}
	return warnings
}

// acts reports whether a rule has one of some actions.
func acts(r *actionrules.Rule, verbs ...actionrules.Verb) bool {
	return slices.ContainsFunc(r.Then, func(a actionrules.Action) bool { return slices.Contains(verbs, a.Verb) })
}

// apart reports whether no URL matches both a rule and one of the others.
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

// otherScheme warns of conditions on http URLs on hosts whose roots are all https: only old links have such URLs, and
// the intended ones do not match.
func otherScheme(set *actionrules.RuleSet) []actionrules.Warning {
	secure, plain := map[string]bool{}, map[string]bool{}
	for _, r := range set.Roots {
		if r.URL.Scheme() == "https" {
			secure[r.URL.Host()] = true
		} else {
			plain[r.URL.Host()] = true
		}
	}
	var warnings []actionrules.Warning
	for i := range set.Rules {
		both := false
		var found []actionrules.Atom
		alternatives(set.Rules[i].If, func(a actionrules.Atom) {
			if a.Field != actionrules.FieldURL || a.Regexp || a.Kind != actionrules.KindExact && a.Kind != actionrules.KindPrefix {
				return
			}
			rest, http := strings.CutPrefix(strings.ToLower(a.Value), "http://")
			host, _, whole := strings.Cut(rest, "/")
			both = both || !http
			if host, _, _ = strings.Cut(host, ":"); http && whole && secure[host] && !plain[host] {
				found = append(found, a)
			}
		})
		for _, a := range found {
			if !both {
				warnings = append(warnings, actionrules.Warning{At: set.Rules[i].At, Text: fmt.Sprintf(
					"%s has http, but the start URLs of this host have https: write https, or <Host> and <Path>, which match both", quote(a.Value))})
			}
		}
	}
	return warnings
}

// shutOut warns of rules about URLs with an extension that IgnoredExtensions refuses before rules are applied.
func shutOut(c *Crawler) []actionrules.Warning {
	if c.Space.Extensions == nil {
		return nil
	}
	var warnings []actionrules.Warning
	for i := range c.Rules.Rules {
		r := &c.Rules.Rules[i]
		if !acts(r, actionrules.Accept, actionrules.Index, actionrules.Follow, actionrules.SetSource, actionrules.AddMeta, actionrules.Priority) {
			continue
		}
		alternatives(r.If, func(a actionrules.Atom) {
			if a.Field != actionrules.FieldPath || a.Kind != actionrules.KindSuffix || a.Regexp || !strings.HasPrefix(a.Value, ".") {
				return
			}
			u, err := weburl.Parse("http://h/a" + a.Value)
			if err == nil && c.Gates.IgnoresExtension(u) {
				warnings = append(warnings, actionrules.Warning{At: r.At, Text: fmt.Sprintf(
					"<IgnoredExtensions> excludes %s before the rules are evaluated: write its list without it", quote(a.Value))})
			}
		})
	}
	return warnings
}

// alternatives calls f for the atoms of a condition that are not inside a Not.
func alternatives(c actionrules.Condition, f func(actionrules.Atom)) {
	switch t := c.(type) {
	case actionrules.Atom:
		f(t)
	case actionrules.And, actionrules.Or:
		for _, of := range operands(t) {
			alternatives(of, f)
		}
	case actionrules.Not:
	}
}
