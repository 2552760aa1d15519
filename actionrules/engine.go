package actionrules

import (
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// Engine is a compiled RuleSet. It is immutable and safe for concurrent use; a
// reload makes a new one.
type Engine struct {
	set   RuleSet
	rules []rule
	roots rootTable
}

// rule is a compiled Rule.
type rule struct {
	cond node
	then []Action
}

// Compile checks and compiles a rule set, which must not be changed afterwards.
// Where there are errors it gives all of them, in the order of the rule set, each
// an *Error, and no Engine.
func Compile(set RuleSet) (*Engine, []error) {
	c := newCompiler()
	c.checkRoots(set.Roots)
	e := &Engine{set: set, rules: make([]rule, len(set.Rules)), roots: newRootTable(set.Roots)}
	for i, r := range set.Rules {
		e.rules[i] = c.compileRule(i, r)
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	return e, nil
}

// Decide applies every rule to u, first to last; later rules override earlier
// ones in the dimensions that their actions set. The caller may keep the metas
// but not change them.
func (e *Engine) Decide(u weburl.URL) Decision {
	v := view{url: u}
	d := e.start(u)
	for i := range e.rules {
		if e.rules[i].cond.holds(&v) {
			d.apply(e.rules[i].then)
		}
	}
	return d
}

// start is the decision before any rule (CloudView manual, "Crawl Rules" and the
// site option of a root). A root adds to the start state: it is accepted, and
// followed where DefaultFollowRoots is set.
func (e *Engine) start(u weburl.URL) Decision {
	d := Decision{Accept: e.set.DefaultAccept, Index: e.set.DefaultIndex, Follow: e.set.DefaultFollow}
	if len(e.set.Roots) == 0 {
		return d
	}
	var buf [8]int
	for _, i := range e.roots.sitesOf(u, buf[:0]) {
		d.Accept, d.Index, d.Follow = true, true, true
		d.addMetas(e.set.Roots[i].KVs)
	}
	for _, i := range e.roots.self[u.String()] {
		d.Root = true
		d.Accept = true
		d.Follow = d.Follow || e.set.DefaultFollowRoots
		d.Shift = e.set.Roots[i].Priority
		d.addMetas(e.set.Roots[i].KVs)
	}
	return d
}

func (d *Decision) addMetas(metas []Meta) {
	for _, m := range metas {
		if !slices.Contains(d.Metas, m) {
			d.Metas = append(d.Metas, m)
		}
	}
}

func (d *Decision) apply(actions []Action) {
	for i := range actions {
		switch a := &actions[i]; a.Verb {
		case Accept, Ignore:
			d.Accept = a.Verb == Accept
		case Index, NoIndex:
			d.Index = a.Verb == Index
		case Follow, NoFollow:
			d.Follow = a.Verb == Follow
		case SetSource:
			d.Source = a.Name
		case AddMeta:
			d.addMetas([]Meta{{a.Name, a.Value}})
		case Priority:
			d.Shift, d.ShiftSet = a.Shift, true
		}
	}
}
