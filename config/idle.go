package config

import (
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules"
)

// dimensions is the number of decisions for which the last action that applies wins. Metas are not among them: they add
// up.
const dimensions = actionrules.DimensionMetas

// laterRules are the rules after one.
type laterRules struct {
	// rules is indexed by conditions that suffice for a rule to apply: for each dimension the nearest rule, counted
	// from 1.
	rules map[conditionKey]*[dimensions]int
	// lengths are the lengths of the atoms' values among the keys, so that few prefixes and suffixes of a long value
	// are looked up.
	lengths map[atomForm]*[maxPlainValue + 1]bool
}

// idleRules warns of rules that change no decision: those whose condition cannot hold, and those whose actions are all
// overridden by later rules wherever they apply. It finds the simple cases: a repeated condition, alone or in an Or;
// one that always holds; a shorter prefix or suffix, a wider domain. The cost of a rule does not depend on the number
// of rules.
func idleRules(rules []actionrules.Rule) []actionrules.Warning {
	var warnings []actionrules.Warning
	later := newLaterRules()
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if conditionSize(r.If, maxConditionSize) > maxConditionSize {
			continue
		}
		if contradictory(r.If) {
			warnings = append(warnings, actionrules.Warning{At: r.At, Text: "the rule can never match: its conditions exclude each other"})
			continue
		}
		k := later.keysOf(r.If)
		if by := later.overriding(r.Then, k.implied); by > 0 {
			warnings = append(warnings, actionrules.Warning{At: r.At, Text: fmt.Sprintf(
				"the rule has no effect: wherever it applies, later rules override it (one at %s)", rules[by-1].At)})
		}
		later.add(i+1, r.Then, k.enough)
	}
	return warnings
}

func newLaterRules() *laterRules {
	return &laterRules{make(map[conditionKey]*[dimensions]int), make(map[atomForm]*[maxPlainValue + 1]bool)}
}

func (l *laterRules) add(rule int, actions []actionrules.Action, enough []conditionKey) {
	for _, key := range enough {
		for _, a := range actions {
			d := a.Verb.Dimension()
			if d >= dimensions {
				continue
			}
			if l.rules[key] == nil {
				l.rules[key] = new([dimensions]int)
				l.addLength(key)
			}
			l.rules[key][d] = rule
		}
	}
}

func (l *laterRules) addLength(key conditionKey) {
	if key.op != 'a' || len(key.value) > maxPlainValue {
		return
	}
	if l.lengths[key.form] == nil {
		l.lengths[key.form] = new([maxPlainValue + 1]bool)
	}
	l.lengths[key.form][len(key.value)] = true
}

// overriding returns the last of the rules that together override all actions where the given conditions hold; 0 if
// some action is not overridden.
func (l *laterRules) overriding(actions []actionrules.Action, implied []conditionKey) int {
	var by [dimensions]int
	for _, key := range implied {
		if rules := l.rules[key]; rules != nil {
			for d := range by {
				by[d] = max(by[d], rules[d])
			}
		}
	}
	last := 0
	for _, a := range actions {
		d := a.Verb.Dimension()
		if d >= dimensions || by[d] == 0 {
			return 0
		}
		last = max(last, by[d])
	}
	return last
}
