package actionrules

import (
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/weburl"
)

// Engine is a compiled RuleSet. It is immutable and safe for concurrent use; a reload compiles a new one.
type Engine struct {
	set   RuleSet
	rules []rule
	roots rootTable
	index *index
	names [len(fieldNames)]bool // the fields that atoms compare
	// scratches serve callers that pass none.
	scratches sync.Pool
}

// rule is a compiled Rule.
type rule struct {
	cond node
	then []Action
}

// Compile checks and compiles a rule set, which must not be changed afterwards. If there are errors it returns all of
// them, in the order of the rule set, each an *Error, and no Engine.
func Compile(set RuleSet) (*Engine, []error) {
	c := newCompiler(len(set.Rules))
	c.checkRoots(set.Roots)
	e := &Engine{set: set, rules: make([]rule, len(set.Rules)), roots: newRootTable(set.Roots)}
	for i, r := range set.Rules {
		e.rules[i] = c.compileRule(i, r)
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	for a := range c.matchers {
		e.names[a.field] = true
	}
	e.index = newIndex(e.rules)
	return e, nil
}

// Names reports whether a condition of a rule compares f.
func (e *Engine) Names(f Field) bool { return e.names[f] }

// Decide applies every rule to u, first to last; later rules override earlier
// ones in the dimensions that their actions set. It looks only at rules that may
// hold for u, and allocates only the metas.
func (e *Engine) Decide(u weburl.URL) Decision {
	s, ok := e.scratches.Get().(*Scratch)
	if !ok {
		s = new(Scratch)
	}
	d := e.DecideInto(u, s)
	d.Metas = slices.Clone(d.Metas)
	e.scratches.Put(s)
	return d
}

// start is the decision before any rule (CloudView manual, "Crawl Rules" and the
// site option of a root). A root adds to the start state: it is accepted, and
// followed where DefaultFollowRoots is set. The metas are appended to those given.
func (e *Engine) start(u weburl.URL, metas []Meta) Decision {
	d := Decision{Accept: e.set.DefaultAccept, Index: e.set.DefaultIndex, Follow: e.set.DefaultFollow, Metas: metas}
	if len(e.set.Roots) == 0 {
		return d
	}
	var buf [8]int32
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

// apply applies an action, except for AddMeta.
func (d *Decision) apply(a *Action) {
	switch a.Verb {
	case Accept, Ignore:
		d.Accept = a.Verb == Accept
	case Index, NoIndex:
		d.Index = a.Verb == Index
	case Follow, NoFollow:
		d.Follow = a.Verb == Follow
	case SetSource:
		d.Source = a.Name
	case Priority:
		d.Shift, d.ShiftSet = a.Shift, true
	case AddMeta: // metas are added in the order of all rules
	}
}
