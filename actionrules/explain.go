package actionrules

import (
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// Explanation describes how the rules decide about one URL.
type Explanation struct {
	Decision Decision
	Start    Start
	Rules    []RuleTrace // every rule, or with ExplainMatches those that match, in order
	// Last is by dimension the index of the last rule that set it, -1 if none did.
	Last [dimensions]int
}

// Start is the state before the first rule, and its reason.
type Start struct {
	Accept, Index, Follow bool
	// Site is the index of the first root whose site the URL lies in, -1 if it
	// lies in none and the defaults hold.
	Site int
	// Root is the index of the root that the URL itself is, -1 if it is not a root. Of
	// several with the same URL the last, whose priority counts.
	Root int
	// Why is the reason as text: "default", "site of root URL" or "root itself".
	Why string
}

// RuleTrace is the effect of one rule.
type RuleTrace struct {
	Index   int // from 0, over all Rules blocks
	At      Position
	Group   string
	Matched bool
	// Changed lists the dimensions that the rule's actions set, each once, in the
	// order of the constants, also where the value was the same before; it is
	// empty where the rule did not match.
	Changed []Dimension
	// Actions are its effective actions as text: Ignore, Source news.
	Actions []string
}

// Rule returns the trace of the rule with an index; false if it is not among Rules.
func (x Explanation) Rule(index int) (RuleTrace, bool) {
	i, ok := slices.BinarySearchFunc(x.Rules, index, func(t RuleTrace, index int) int { return t.Index - index })
	if !ok {
		return RuleTrace{}, false
	}
	return x.Rules[i], true
}

// ExcludedBy returns the index of the rule that finally caused the URL to be ignored, or -1 if the start state did.
// excluded is false for a URL that is crawled.
func (x Explanation) ExcludedBy() (rule int, excluded bool) {
	switch d := x.Decision; {
	case d.Crawl():
		return 0, false
	case !d.Accept:
		return x.Last[DimensionAccept], true
	default:
		return max(x.Last[DimensionIndex], x.Last[DimensionFollow]), true
	}
}

// Explain decides about u independently of Decide, and describes how. It evaluates every condition, even if the result
// is already clear.
func (e *Engine) Explain(u weburl.URL) Explanation {
	x := e.newExplanation(u)
	x.Rules = make([]RuleTrace, 0, len(e.rules))
	v := view{url: u}
	for i := range e.rules {
		x.trace(e, i, &v)
	}
	x.Decision = e.conclude(u, x)
	return x
}

// ExplainMatches is like Explain, without the rules that do not match. It finds the others by the index and evaluates
// them again.
func (e *Engine) ExplainMatches(u weburl.URL) Explanation {
	x := e.newExplanation(u)
	v := view{url: u}
	for _, i := range e.Matching(u) {
		x.trace(e, int(i), &v)
	}
	x.Rules = slices.DeleteFunc(x.Rules, func(t RuleTrace) bool { return !t.Matched })
	x.Decision = e.conclude(u, x)
	return x
}

// Matching returns the indexes of the rules that hold for u, in their order, by the index.
func (e *Engine) Matching(u weburl.URL) []int32 {
	s, ok := e.scratches.Get().(*Scratch)
	if !ok {
		s = new(Scratch)
	}
	s.begin(e.index, u)
	s.collects, s.held = true, s.held[:0]
	e.index.decide(s)
	s.collects = false
	var found []int32
	add := func(clause int32) {
		found = append(found, e.index.rules[e.index.ruleStarts[clause]:e.index.ruleStarts[clause+1]]...)
	}
	for _, clause := range s.held {
		add(clause)
	}
	if e.index.defaults.number > 0 {
		for i := range e.index.clauses {
			if c := &e.index.clauses[i]; c.byDefault >= 0 && s.failed[c.byDefault] != s.epoch {
				add(int32(i))
			}
		}
	}
	e.scratches.Put(s)
	slices.Sort(found)
	return slices.Compact(found)
}

func (e *Engine) newExplanation(u weburl.URL) Explanation {
	x := Explanation{Start: e.explainStart(u)}
	for i := range x.Last {
		x.Last[i] = -1
	}
	return x
}

// trace adds the effect of a rule on the URL of v.
func (x *Explanation) trace(e *Engine, i int, v *view) {
	r := &e.set.Rules[i]
	t := RuleTrace{Index: i, At: r.At, Group: r.Group, Changed: []Dimension{}}
	if e.rules[i].cond.holds(v) {
		t.Matched = true
		for _, a := range r.Then {
			x.Last[a.Verb.Dimension()] = i
			t.Changed = append(t.Changed, a.Verb.Dimension())
			t.Actions = append(t.Actions, a.String())
		}
		slices.Sort(t.Changed)
		t.Changed = slices.Compact(t.Changed)
	}
	x.Rules = append(x.Rules, t)
}

// explainStart goes through all roots, one by one.
func (e *Engine) explainStart(u weburl.URL) Start {
	s := Start{e.set.DefaultAccept, e.set.DefaultIndex, e.set.DefaultFollow, -1, -1, "default"}
	for i, r := range e.set.Roots {
		if s.Site < 0 && inSite(r, u) {
			s.Accept, s.Index, s.Follow, s.Site = true, true, true, i
			s.Why = "site of root " + r.URL.String()
		}
		if r.URL.String() == u.String() {
			s.Root = i
		}
	}
	if s.Root >= 0 {
		s.Accept, s.Follow = true, s.Follow || e.set.DefaultFollowRoots
		s.Why = "root itself"
	}
	return s
}

func inSite(r Root, u weburl.URL) bool {
	return r.Site && slices.ContainsFunc(sitePrefixes(r.URL), func(p string) bool {
		return strings.HasPrefix(u.String(), p)
	})
}

// conclude derives the decision from the last rule in each dimension.
func (e *Engine) conclude(u weburl.URL, x Explanation) Decision {
	d := Decision{Accept: x.Start.Accept, Index: x.Start.Index, Follow: x.Start.Follow, Root: x.Start.Root >= 0}
	if d.Root {
		d.Shift = e.set.Roots[x.Start.Root].Priority
	}
	for dim, i := range x.Last {
		if i < 0 || Dimension(dim) == DimensionMetas {
			continue
		}
		for _, a := range e.set.Rules[i].Then {
			if a.Verb.Dimension() == Dimension(dim) {
				d.apply(&a)
			}
		}
	}
	d.Metas = e.explainMetas(u, x.Rules)
	return d
}

// explainMetas gathers the metas of sites, of the root and of rules, in this order.
func (e *Engine) explainMetas(u weburl.URL, rules []RuleTrace) []Meta {
	var all, metas []Meta
	for _, r := range e.set.Roots {
		if inSite(r, u) {
			all = append(all, r.KVs...)
		}
	}
	for _, r := range e.set.Roots {
		if r.URL.String() == u.String() {
			all = append(all, r.KVs...)
		}
	}
	for _, t := range rules {
		for _, a := range e.set.Rules[t.Index].Then {
			if t.Matched && a.Verb == AddMeta {
				all = append(all, Meta{a.Name, a.Value})
			}
		}
	}
	seen := map[Meta]bool{}
	for _, m := range all {
		if !seen[m] {
			seen[m] = true
			metas = append(metas, m)
		}
	}
	return metas
}
