package actionrules

import (
	"slices"

	"github.com/sextant-crawler/sextant/actionrules/match"
)

// indexBuilder makes an index of compiled rules.
type indexBuilder struct {
	index
	graph     *graph
	clauseIDs map[clauseKey]int32
	drafts    []draft // of the clauses
	metaIDs   map[Meta]int32
	metasOf   map[clauseMeta]bool
	atoms     []atomDraft
	literals  [len(fieldNames)]match.Builder
	triggers  [len(fieldNames)][][]trigger // by number of the literal
	intervals [len(fieldNames)][]interval
	ruleOf    []clauseRule
}

// clauseRule assigns a clause to a rule.
type clauseRule struct{ clause, rule int32 }

type clauseKey struct {
	expr int32
	want bool // the clause holds where expr has this value
}

type clauseMeta struct{ clause, meta int32 }

// draft is a clause that is being made.
type draft struct {
	clauseKey
	last  settings
	metas []addition // of equal ones the first
}

// atomDraft is a distinct atom.
type atomDraft struct {
	*matcher
	regexp   int32 // its number, -1 of others
	required []string
	uses     int     // clauses that it occurs in
	cost     float64 // as key, see needed
	clauses  []int32 // to check when the literal is found
}

func newIndex(rules []rule) *index {
	b := &indexBuilder{
		graph: newGraph(len(rules)), clauseIDs: make(map[clauseKey]int32, len(rules)), metaIDs: map[Meta]int32{}, metasOf: map[clauseMeta]bool{},
		drafts: make([]draft, 0, len(rules)), ruleOf: make([]clauseRule, 0, len(rules)),
	}
	b.actions = make([]*Action, 0, len(rules))
	for i := range rules {
		b.addRule(&rules[i], int32(i))
	}
	b.draftAtoms()
	b.clauses = make([]clause, 0, len(b.drafts))
	for i := range b.drafts {
		b.addClause(int32(i))
	}
	b.growLiterals()
	for a := range b.atoms {
		if len(b.atoms[a].clauses) > 0 {
			b.addTriggers(&b.atoms[a])
		}
	}
	for f := range b.fields {
		b.buildField(f)
	}
	b.shareText()
	b.defaults.build(&b.index)
	b.buildRules()
	x := b.index
	return &x
}

// addRule adds a rule's effect to its clauses.
func (b *indexBuilder) addRule(r *rule, number int32) {
	first := int32(len(b.actions)) + 1
	for i := range r.then {
		b.actions = append(b.actions, &r.then[i])
	}
	b.split(b.graph.add(&r.cond), true, func(k clauseKey) {
		id, ok := b.clauseIDs[k]
		if !ok {
			id = int32(len(b.drafts))
			b.clauseIDs[k] = id
			b.drafts = append(b.drafts, draft{clauseKey: k})
		}
		b.ruleOf = append(b.ruleOf, clauseRule{id, number})
		for place := first; place <= int32(len(b.actions)); place++ {
			b.addAction(id, place)
		}
	})
}

// buildRules sorts the rules to their clauses.
func (b *indexBuilder) buildRules() {
	b.ruleStarts = make([]int32, len(b.clauses)+1)
	for _, r := range b.ruleOf {
		b.ruleStarts[r.clause+1]++
	}
	for i := range b.clauses {
		b.ruleStarts[i+1] += b.ruleStarts[i]
	}
	next := slices.Clone(b.ruleStarts)
	b.rules = make([]int32, len(b.ruleOf))
	for _, r := range b.ruleOf {
		b.rules[next[r.clause]] = r.rule
		next[r.clause]++
	}
}

// split takes an Or at the top apart.
func (b *indexBuilder) split(id int32, want bool, yield func(clauseKey)) {
	switch e := b.graph.exprs[id]; {
	case e.op == opNot:
		b.split(e.of[0], !want, yield)
	case e.op == opOr && want, e.op == opAnd && !want:
		for _, of := range e.of {
			b.split(of, want, yield)
		}
	default:
		yield(clauseKey{id, want})
	}
}

// addAction adds an action to a clause, after the existing ones.
func (b *indexBuilder) addAction(clause, place int32) {
	a, d := b.actions[place-1], &b.drafts[clause]
	if a.Verb != AddMeta {
		d.last[a.Verb.Dimension()] = newSetting(a, place)
		return
	}
	m := Meta{a.Name, a.Value}
	id, ok := b.metaIDs[m]
	if !ok {
		id = int32(len(b.metas))
		b.metaIDs[m] = id
		b.metas = append(b.metas, m)
	}
	if key := (clauseMeta{clause, id}); !b.metasOf[key] {
		b.metasOf[key] = true
		d.metas = append(d.metas, addition{place, id})
	}
}

func (b *indexBuilder) draftAtoms() {
	b.atoms = make([]atomDraft, len(b.graph.atoms))
	for i, m := range b.graph.atoms {
		b.atoms[i] = atomDraft{matcher: m, regexp: -1}
		if m.re != nil {
			b.atoms[i].regexp = int32(len(b.regexps))
			b.atoms[i].required = m.required()
			b.regexps = append(b.regexps, m)
		}
	}
	for _, d := range b.drafts {
		b.countUses(d.expr)
	}
	for i := range b.atoms {
		b.atoms[i].cost = b.atoms[i].estimate()
	}
}

func (b *indexBuilder) countUses(id int32) {
	e := &b.graph.exprs[id]
	if e.op == opAtom {
		b.atoms[e.atom].uses++
		return
	}
	for _, of := range e.of {
		b.countUses(of)
	}
}

// addClause puts a clause to the atoms that decide when it is looked at.
func (b *indexBuilder) addClause(id int32) {
	d := &b.drafts[id]
	c := clause{byDefault: -1, effect: effect{last: d.last, metas: span{int32(len(b.added)), int32(len(b.added) + len(d.metas))}}}
	b.added = append(b.added, d.metas...)
	k, ok := b.needed(d.expr, d.want)
	if !ok {
		c.byDefault = int32(b.defaults.number)
		b.defaults.number++
		k, _ = b.needed(d.expr, !d.want) // none where nothing makes it fail
	}
	found := int32(-1)
	if len(k.atoms) == 1 {
		found = k.atoms[0]
	}
	if d.want {
		c.program = b.compile(d.expr, held, refused, found)
	} else {
		c.program = b.compile(d.expr, refused, held, found)
	}
	for _, a := range k.atoms {
		of := &b.atoms[a].clauses
		if n := len(*of); n == 0 || (*of)[n-1] != id { // they come in order
			*of = append(*of, id)
		}
	}
	b.clauses = append(b.clauses, c)
}

// compile makes the steps of a test, followed by next, and returns the first.
// The atom found is known to hold.
func (b *indexBuilder) compile(id, yes, no, found int32) int32 {
	e := &b.graph.exprs[id]
	switch e.op {
	case opAtom:
		if e.atom == found {
			return yes
		}
		a := &b.atoms[e.atom]
		b.steps = append(b.steps, step{*a.matcher, a.regexp, [2]int32{no, yes}})
		return int32(len(b.steps)) - 1
	case opNot:
		return b.compile(e.of[0], no, yes, found)
	case opAnd:
		for i := len(e.of) - 1; i >= 0; i-- {
			yes = b.compile(e.of[i], yes, no, found)
		}
		return yes
	case opOr:
		for i := len(e.of) - 1; i >= 0; i-- {
			no = b.compile(e.of[i], yes, no, found)
		}
	}
	return no
}
