package actionrules

import (
	"encoding/binary"
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// maxCharacters is more than any part of a URL has.
const maxCharacters = 3 * weburl.MaxLength

// expr is an interned condition: equal conditions share one expr, whatever the order
// and repetition of their parts, nested And and Or, and double Not. An empty And is
// true, an empty Or is false.
type expr struct {
	op   operator
	atom int32   // of opAtom, in graph.atoms
	of   []int32 // of the others, in graph.exprs; the cheap ones first
}

// graph holds the conditions of a rule set as expressions.
type graph struct {
	atoms   []*matcher
	exprs   []expr
	atomIDs map[matcherKey]int32
	ofAtoms []int32          // by number of the atom, its expr
	exprIDs map[string]int32 // of the others
	simple  map[*matcher]*matcher
}

// matcherKey is equal for atoms that hold for the same URLs, as far as is seen.
type matcherKey struct {
	field    Field
	kind     Kind
	norm     Norm
	text     string
	regexp   bool
	min, max int
}

func newGraph(atoms int) *graph {
	return &graph{
		atoms: make([]*matcher, 0, atoms), exprs: make([]expr, 0, atoms), ofAtoms: make([]int32, 0, atoms),
		atomIDs: make(map[matcherKey]int32, atoms), exprIDs: map[string]int32{}, simple: map[*matcher]*matcher{},
	}
}

// add returns the expression of a compiled condition.
func (g *graph) add(n *node) int32 {
	switch n.op {
	case opAtom:
		return g.atom(n.atom)
	case opNot:
		of := g.add(&n.of[0])
		switch e := g.exprs[of]; {
		case e.op == opNot:
			return e.of[0]
		case len(e.of) == 0 && e.op != opAtom: // true or false
			return g.intern(expr{op: opAnd + opOr - e.op})
		}
		return g.intern(expr{op: opNot, of: []int32{of}})
	case opAnd, opOr:
	}
	return g.list(n)
}

// list returns the expression of an And or Or.
func (g *graph) list(n *node) int32 {
	var of []int32
	for i := range n.of {
		id := g.add(&n.of[i])
		switch e := g.exprs[id]; {
		case e.op == n.op:
			of = append(of, e.of...)
		case e.op != opAtom && len(e.of) == 0: // true in an Or, false in an And
			return id
		default:
			of = append(of, id)
		}
	}
	slices.Sort(of)
	of = slices.Compact(of)
	if len(of) == 1 {
		return of[0]
	}
	return g.intern(expr{op: n.op, of: of})
}

func (g *graph) atom(m *matcher) int32 {
	if m.re != nil {
		if g.simple[m] == nil {
			g.simple[m] = m.simplified()
		}
		m = g.simple[m]
	}
	if m.always() {
		return g.intern(expr{op: opAnd})
	}
	key := matcherKey{m.field, m.kind, m.norm, m.literal, false, m.min, m.max}
	if m.re != nil {
		key.text, key.regexp, key.kind = m.re.String(), true, 0 // the anchors are in the expression
	}
	id, ok := g.atomIDs[key]
	if !ok {
		id = int32(len(g.atoms))
		g.atomIDs[key] = id
		g.atoms = append(g.atoms, m)
		g.ofAtoms = append(g.ofAtoms, int32(len(g.exprs)))
		g.exprs = append(g.exprs, expr{op: opAtom, atom: id})
	}
	return g.ofAtoms[id]
}

// intern returns the number of an expression, not of an atom, whose list is sorted.
func (g *graph) intern(e expr) int32 {
	key := make([]byte, 0, 64)
	key = append(key, byte(e.op))
	for _, of := range e.of {
		key = binary.AppendVarint(key, int64(of))
	}
	id, ok := g.exprIDs[string(key)]
	if ok {
		return id
	}
	id = int32(len(g.exprs))
	slices.SortStableFunc(e.of, func(a, b int32) int { return g.effort(a) - g.effort(b) })
	g.exprs = append(g.exprs, e)
	g.exprIDs[string(key)] = id
	return id
}

// effort estimates how long an expression takes to match.
func (g *graph) effort(id int32) int {
	switch e := g.exprs[id]; {
	case e.op == opNot:
		return g.effort(e.of[0])
	case e.op != opAtom:
		return 1
	case g.atoms[e.atom].re != nil:
		return 2
	default:
		return 0
	}
}

// always reports whether a matcher matches every URL.
func (m *matcher) always() bool {
	if m.kind == KindLength {
		return m.min == 0 && m.max >= maxCharacters
	}
	return m.re == nil && m.literal == "" && m.kind != KindExact
}
