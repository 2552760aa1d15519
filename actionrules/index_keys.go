package actionrules

import (
	"math"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules/match"
)

// keys are atoms, at least one of which must match, with the estimated cost of checking a clause each time one does.
type keys struct {
	atoms []int32
	cost  float64
}

// needed returns the cheapest atoms, at least one of which must match for the expression to have the value. ok is false
// if it can have it without any.
func (b *indexBuilder) needed(id int32, value bool) (k keys, ok bool) {
	e := &b.graph.exprs[id]
	switch e.op {
	case opAtom:
		return keys{[]int32{e.atom}, b.atoms[e.atom].cost}, value
	case opNot:
		return b.needed(e.of[0], !value)
	case opAnd, opOr:
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

// cheapest returns the best keys of a list of expressions that all have the value.
func (b *indexBuilder) cheapest(of []int32, value bool) (best keys, ok bool) {
	best.cost = math.Inf(1)
	for _, id := range of {
		if one, there := b.needed(id, value); there && (!ok || one.cost < best.cost) {
			best, ok = one, true
		}
	}
	return best, ok
}

// estimate estimates how many clauses a URL has to check with the atom as a key: those that contain it, times the
// probability of a match.
func (a *atomDraft) estimate() float64 {
	const always = 50 // an expression tried on every URL costs as much as so many clauses
	uses := float64(a.uses)
	switch {
	case a.kind == KindLength, a.field == FieldScheme:
		return uses / 2
	case a.re == nil && a.kind == KindExact:
		return uses * probability(8+weight(a.literal))
	case a.re == nil:
		return uses * probability(weight(a.literal))
	}
	r := rarity(a.required)
	if r == 0 {
		return always + uses
	}
	return (1 + uses) * probability(r/4)
}

func probability(weight int) float64 { return math.Exp2(-float64(min(weight, 40)) / 2) }

// growLiterals makes room for the literals of the atoms that clauses are found by.
func (b *indexBuilder) growLiterals() {
	var n [len(fieldNames)]int
	for i := range b.atoms {
		if len(b.atoms[i].clauses) > 0 {
			n[b.atoms[i].field]++
		}
	}
	for f := range n {
		if n[f] > 0 {
			b.literals[f].Grow(n[f])
			b.triggers[f] = make([][]trigger, 0, n[f])
		}
	}
}

// addTriggers makes the field's index find an atom.
func (b *indexBuilder) addTriggers(a *atomDraft) {
	first := int32(len(b.touched))
	b.touched = append(b.touched, a.clauses...)
	t := trigger{span{first, int32(len(b.touched))}, a.regexp, a.norm, a.re != nil}
	literals, kind := a.required, match.Inside
	switch {
	case a.kind == KindLength:
		b.intervals[a.field] = append(b.intervals[a.field], interval{a.min, a.max, t})
		return
	case a.re == nil:
		literals = []string{a.literal}
		kind = [...]match.Kind{KindExact: match.Exact, KindPrefix: match.Prefix, KindSuffix: match.Suffix, KindInside: match.Inside}[a.kind]
	case literals == nil:
		b.tried = append(b.tried, t)
		return
	}
	b.fields[a.field].norms[a.norm] = true
	triggers := &b.triggers[a.field]
	for _, l := range literals {
		n := int(b.literals[a.field].Add(kind, l))
		if n == len(*triggers) {
			*triggers = append(*triggers, nil)
		}
		(*triggers)[n] = append((*triggers)[n], t)
	}
}

func (b *indexBuilder) buildField(f int) {
	fx := &b.fields[f]
	fx.literals = b.literals[f].Build()
	for _, list := range b.triggers[f] {
		fx.starts = append(fx.starts, uint32(len(fx.triggers)))
		fx.triggers = append(fx.triggers, list...)
	}
	fx.starts = append(fx.starts, uint32(len(fx.triggers)))
	fx.lengths.build(b.intervals[f])
}

// shareText puts the literals of steps that follow each other side by side.
func (b *indexBuilder) shareText() {
	var all strings.Builder
	for i := range b.steps {
		all.WriteString(b.steps[i].literal)
	}
	rest := all.String()
	for i := range b.steps {
		n := len(b.steps[i].literal)
		b.steps[i].literal, rest = rest[:n], rest[n:]
	}
}
