package actionrules

import (
	"math"

	"github.com/sextant-crawler/sextant/actionrules/match"
)

// indexBuilder makes an index of compiled rules.
type indexBuilder struct {
	index
	graph     *graph
	clauseIDs map[clauseKey]int32
	literals  [len(fieldNames)]match.Builder
	metaIDs   map[Meta]int32
	// clauseMetas are the metas that clauses add.
	clauseMetas map[clauseMeta]bool
	uses        []float64  // by atom, the clauses that it occurs in
	required    [][]string // by atom, of a regular expression
	costs       []float64  // by atom
}

type clauseMeta struct{ clause, meta int32 }

type clauseKey struct {
	expr int32
	want bool
}

func newIndex(rules []rule) *index {
	b := &indexBuilder{
		graph: newGraph(), clauseIDs: map[clauseKey]int32{}, metaIDs: map[Meta]int32{}, clauseMetas: map[clauseMeta]bool{},
	}
	for i := range rules {
		b.addRule(&rules[i])
	}
	b.exprs = b.graph.exprs
	b.addAtoms()
	for i := range b.clauses {
		b.place(int32(i))
	}
	for a := range b.atoms {
		if len(b.atoms[a].clauses) > 0 {
			b.indexAtom(int32(a))
		}
	}
	for f := range b.fields {
		b.fields[f].literals = b.literals[f].Build()
		b.fields[f].lengths.build(b.index.atoms)
	}
	b.defaults.build(&b.index)
	x := b.index
	x.distinct = len(b.metaIDs)
	return &x
}

// addRule gives a rule's effect to its clauses.
func (b *indexBuilder) addRule(r *rule) {
	first := int32(len(b.actions)) + 1
	for i := range r.then {
		b.addAction(&r.then[i])
	}
	b.split(b.graph.add(&r.cond), true, func(k clauseKey) {
		id, ok := b.clauseIDs[k]
		if !ok {
			id = int32(len(b.clauses))
			b.clauseIDs[k] = id
			b.clauses = append(b.clauses, clause{expr: k.expr, want: k.want, byDefault: -1})
		}
		b.addActions(id, first)
	})
}

func (b *indexBuilder) addAction(a *Action) {
	meta := int32(-1)
	if a.Verb == AddMeta {
		m, ok := b.metaIDs[Meta{a.Name, a.Value}]
		if !ok {
			m = int32(len(b.metaIDs))
			b.metaIDs[Meta{a.Name, a.Value}] = m
		}
		meta = m
	}
	b.actions = append(b.actions, a)
	b.metas = append(b.metas, meta)
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

func (b *indexBuilder) addAtoms() {
	b.atoms = make([]atomEntry, len(b.graph.atoms))
	b.required = make([][]string, len(b.atoms))
	b.costs = make([]float64, len(b.atoms))
	for i, m := range b.graph.atoms {
		b.atoms[i] = atomEntry{matcher: m, memo: -1}
		if m.re != nil {
			b.atoms[i].memo = int32(b.regexps)
			b.regexps++
			b.required[i] = m.required()
		}
	}
	b.uses = make([]float64, len(b.atoms))
	for i := range b.clauses {
		b.countUses(b.clauses[i].expr)
	}
	for i := range b.costs {
		b.costs[i] = b.cost(int32(i))
	}
}

func (b *indexBuilder) countUses(id int32) {
	e := &b.exprs[id]
	if e.op == opAtom {
		b.uses[e.atom]++
		return
	}
	for _, of := range e.of {
		b.countUses(of)
	}
}

// place puts a clause to the atoms that decide when it is looked at.
func (b *indexBuilder) place(id int32) {
	c := &b.clauses[id]
	c.single = b.exprs[c.expr].op == opAtom
	keys, ok := b.needed(c.expr, c.want)
	if !ok {
		c.byDefault = int32(len(b.defaults.clauses))
		b.defaults.clauses = append(b.defaults.clauses, id)
		keys, _ = b.needed(c.expr, !c.want) // none where nothing makes it fail
	}
	for _, a := range keys.atoms {
		if of := b.atoms[a].clauses; len(of) == 0 || of[len(of)-1] != id { // they come in order
			b.atoms[a].clauses = append(of, id)
		}
	}
}

// keys are atoms of which one must hold for something, and about what it costs
// to look at a clause each time that one does.
type keys struct {
	atoms []int32
	cost  float64
}

// needed gives the cheapest atoms of which one must hold for the expression to
// have the value. ok is false if it has it where no atom holds.
func (b *indexBuilder) needed(id int32, value bool) (k keys, ok bool) {
	e := &b.exprs[id]
	switch e.op {
	case opAtom:
		return keys{[]int32{e.atom}, b.costs[e.atom]}, value
	case opNot:
		return b.needed(e.of[0], !value)
	}
	if (e.op == opAnd) == value {
		return b.cheapest(e.of, value)
	}
	for _, of := range e.of {
		one, ok := b.needed(of, value)
		if !ok {
			return keys{}, false
		}
		k.atoms = append(k.atoms, one.atoms...)
		k.cost += one.cost
	}
	return k, true
}

// cheapest gives the best keys of a list of expressions that all have the value.
func (b *indexBuilder) cheapest(of []int32, value bool) (best keys, ok bool) {
	best.cost = math.Inf(1)
	for _, id := range of {
		if one, there := b.needed(id, value); there && (!ok || one.cost < best.cost) {
			best, ok = one, true
		}
	}
	return best, ok
}

// cost estimates how many clauses an atom as key makes a URL look at: those that
// it occurs in, times how probably it holds.
func (b *indexBuilder) cost(atom int32) float64 {
	m := b.atoms[atom].matcher
	const always = 50 // an expression tried on every URL costs as much as so many clauses
	switch {
	case m.kind == KindLength:
		return b.uses[atom] / 2
	case m.re != nil:
		r := rarity(b.required[atom])
		if r == 0 {
			return always + b.uses[atom]
		}
		return (1 + b.uses[atom]) * probability(r/4)
	case m.field == FieldScheme:
		return b.uses[atom] / 2
	case m.kind == KindExact:
		return b.uses[atom] * probability(8+weight(m.literal))
	default:
		return b.uses[atom] * probability(weight(m.literal))
	}
}

func probability(weight int) float64 { return math.Exp2(-float64(min(weight, 40)) / 2) }

// indexAtom makes the field's index find an atom.
func (b *indexBuilder) indexAtom(id int32) {
	m := b.atoms[id].matcher
	fx, kind := &b.fields[m.field], match.Inside
	literals, guarded := []string{m.literal}, false
	switch {
	case m.kind == KindLength:
		fx.lengths.atoms = append(fx.lengths.atoms, id)
		return
	case m.re != nil:
		if literals, guarded = b.required[id], true; literals == nil {
			b.tried = append(b.tried, id)
			return
		}
	default:
		kind = [...]match.Kind{KindExact: match.Exact, KindPrefix: match.Prefix, KindSuffix: match.Suffix, KindInside: match.Inside}[m.kind]
	}
	fx.norms[m.norm] = true
	for _, l := range literals {
		n := int(b.literals[m.field].Add(kind, l))
		if n == len(fx.triggers) {
			fx.triggers = append(fx.triggers, nil)
		}
		fx.triggers[n] = append(fx.triggers[n], trigger{m.norm, guarded, id})
	}
}
