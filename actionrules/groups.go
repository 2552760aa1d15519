package actionrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// maxGroupOrigins bounds what strayRules compares: a group with roots on more
// origins is not judged.
const maxGroupOrigins = 100

// defaultGroup is the group of what names none.
const defaultGroup = "default"

// strayRules warns of rules that can match nothing on the hosts of their group's
// roots, and of groups without roots. Groups do not isolate: such a rule still applies to
// all other URLs. Rules without a group are about any host.
func (e *Engine) strayRules() []Warning {
	origins := map[string][]weburl.URL{}
	known := map[string]bool{}
	for _, r := range e.set.Roots {
		key := r.Group + "\n" + r.URL.Origin()
		if known[key] {
			continue
		}
		known[key] = true
		for _, p := range sitePrefixes(r.URL) {
			if u, err := weburl.Parse(p); err == nil {
				origins[r.Group] = append(origins[r.Group], u)
			}
		}
	}
	var ws []Warning
	rootless := map[string]bool{}
	for i, r := range e.set.Rules {
		if r.Group == "" || r.Group == defaultGroup {
			continue
		}
		roots := origins[r.Group]
		if len(roots) == 0 && !rootless[r.Group] && len(e.set.Roots) > 0 {
			rootless[r.Group] = true
			ws = append(ws, Warning{r.At, fmt.Sprintf(
				"no root has the group %q of the rule%s; groups do not isolate rules, it applies to all URLs", r.Group, otherGroups(origins))})
		}
		if len(roots) == 0 || len(roots) > maxGroupOrigins {
			continue
		}
		possible := slices.ContainsFunc(roots, func(u weburl.URL) bool {
			return e.rules[i].cond.onHost(u, r.If) != never
		})
		if !possible {
			ws = append(ws, Warning{r.At, fmt.Sprintf(
				"the rule matches no root of its group %q; groups do not isolate rules, it applies to all other URLs", r.Group)})
		}
	}
	return ws
}

// otherGroups lists the groups that roots have.
func otherGroups(origins map[string][]weburl.URL) string {
	const most = 5
	names := slices.Sorted(maps.Keys(origins))
	if len(names) > most {
		return ""
	}
	return " (they have " + strings.Join(names, ", ") + ")"
}

// chance is a truth value of three: whether a condition holds for the URLs of a
// host.
type chance uint8

const (
	never chance = iota
	sometimes
	always
)

// onHost judges a condition for all URLs of an origin: scheme and host decide,
// the rest can be anything.
func (n *node) onHost(u weburl.URL, cond Condition) chance {
	switch c := cond.(type) {
	case Not:
		return always - n.of[0].onHost(u, c.Of)
	case And:
		low := always
		for i, o := range c.Of {
			low = min(low, n.of[i].onHost(u, o))
		}
		return low
	case Or:
		high := never
		for i, o := range c.Of {
			high = max(high, n.of[i].onHost(u, o))
		}
		return high
	}
	a := cond.(Atom)
	if a.Field == FieldScheme || a.Field == FieldHost {
		if v := (view{url: u}); n.atom.matches(&v) {
			return always
		}
		return never
	}
	if a.Field == FieldURL && (a.Kind == KindExact || a.Kind == KindPrefix) {
		start := normalise(literalStart(a), a.Norm)
		origin := normalise(u.Origin()+"/", a.Norm)
		if !strings.HasPrefix(start, origin) && !strings.HasPrefix(origin, start) {
			return never
		}
	}
	return sometimes
}
