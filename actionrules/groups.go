package actionrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// maxGroupOrigins limits the comparisons of strayRules: a group with roots on more origins is not judged.
const maxGroupOrigins = 100

// defaultGroup is the group of elements that name none.
const defaultGroup = "default"

// place is where roots of a group are: an origin, and the common prefix of their sites' folders.
type place struct {
	weburl.URL
	path string
}

// places returns the places of each group with roots.
func (e *Engine) places() map[string][]place {
	origins := map[string][]place{}
	known := map[string]int{} // by group and origin: its place in origins
	for _, r := range e.set.Roots {
		path := r.URL.Path()
		path = path[:strings.LastIndexByte(path, '/')+1]
		if !r.Site {
			path = ""
		}
		for _, p := range sitePrefixes(r.URL) {
			u, err := weburl.Parse(p)
			if err != nil {
				continue
			}
			of, key := origins[r.Group], r.Group+"\n"+u.Origin()
			i, again := known[key]
			if !again {
				known[key] = len(of)
				origins[r.Group] = append(of, place{u, path})
				continue
			}
			for !strings.HasPrefix(path, of[i].path) {
				of[i].path = of[i].path[:len(of[i].path)-1]
			}
		}
	}
	return origins
}

// strayRules warns of rules that can match nothing on the hosts of their group's
// roots, or below their paths, and of groups without roots. Groups do not isolate: such a rule
// still applies to all other URLs. Rules without a group are about any host, rules that
// accept may be about links out of the site.
func (e *Engine) strayRules() []Warning {
	origins := e.places()
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
		accepts := slices.ContainsFunc(r.Then, func(a Action) bool { return a.Verb == Accept })
		possible := slices.ContainsFunc(roots, func(p place) bool {
			if accepts {
				p.path = ""
			}
			return e.rules[i].cond.below(p, r.If) != never
		})
		if !possible {
			ws = append(ws, Warning{r.At, fmt.Sprintf(
				"the rule matches no root of its group %q; groups do not isolate rules, it applies to all other URLs", r.Group)})
		}
	}
	return ws
}

// otherGroups lists the groups that roots have.
func otherGroups(origins map[string][]place) string {
	const most = 5
	names := slices.Sorted(maps.Keys(origins))
	if len(names) > most {
		return ""
	}
	return " (they have " + strings.Join(names, ", ") + ")"
}

// chance is a truth value of three: whether a condition holds for the URLs of a
// place.
type chance uint8

const (
	never chance = iota
	sometimes
	always
)

// below judges a condition for all URLs of a place: its scheme, host and the beginning of its path
// decide, the rest can be anything.
func (n *node) below(u place, cond Condition) chance {
	switch c := cond.(type) {
	case Not:
		return always - n.of[0].below(u, c.Of)
	case And:
		low := always
		for i, o := range c.Of {
			low = min(low, n.of[i].below(u, o))
		}
		return low
	case Or:
		high := never
		for i, o := range c.Of {
			high = max(high, n.of[i].below(u, o))
		}
		return high
	}
	a := cond.(Atom)
	if a.Field == FieldScheme || a.Field == FieldHost {
		if v := (view{url: u.URL}); n.atom.matches(&v) {
			return always
		}
		return never
	}
	if a.Kind != KindExact && a.Kind != KindPrefix {
		return sometimes
	}
	all := u.path
	switch a.Field {
	case FieldURL:
		all = u.Origin() + "/" + strings.TrimPrefix(u.path, "/")
	case FieldPath:
	case FieldScheme, FieldHost, FieldQuery, FieldFragment:
		return sometimes
	}
	start := normalise(literalStart(a), a.Norm)
	if all = normalise(all, a.Norm); !strings.HasPrefix(start, all) && !strings.HasPrefix(all, start) {
		return never
	}
	return sometimes
}
