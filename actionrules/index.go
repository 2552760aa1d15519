package actionrules

import "github.com/sextant-crawler/sextant/actionrules/match"

// index finds the rules that hold for a URL without looking at the others.
//
// Each rule becomes clauses: what is left where an Or at its top is taken apart.
// Equal clauses of different rules are one, with the effect that their rules have
// together. A clause is looked at only when one of its atoms is found that it
// needs to hold; one that holds with no atom found (a Not) is assumed to, and
// looked at only when one of the atoms is found that it needs to fail.
type index struct {
	atoms   []atomEntry
	exprs   []expr
	clauses []clause
	fields  [len(fieldNames)]fieldIndex
	// tried are the regular expressions without a literal that their texts contain,
	// of which some clause needs one.
	tried    []int32
	regexps  int       // atoms with a memo
	actions  []*Action // of all rules, in order; a place in them is counted from 1
	metas    []int32   // by action, of an AddMeta the number of its meta
	distinct int       // metas
	defaults defaults
}

// atomEntry is one of the different atoms.
type atomEntry struct {
	matcher *matcher
	memo    int32   // of a regular expression: its number, else -1
	clauses []int32 // to look at when it is found
}

// clause is a condition with its effect.
type clause struct {
	expr      int32
	want      bool  // it holds where expr has this value
	single    bool  // expr is an atom, found where the clause is looked at
	byDefault int32 // its number among those that hold with no atom found, else -1
	effect    effect
}

// fieldIndex finds the atoms of one field.
type fieldIndex struct {
	literals *match.Index
	triggers [][]trigger          // by number of the literal
	norms    [len(normNames)]bool // which there are
	lengths  intervals
}

// trigger is what the finding of a literal means.
type trigger struct {
	norm Norm
	// guarded is set where the atom is a regular expression that needs the literal.
	guarded bool
	atom    int32
}

// decide adds the places of the actions that hold for the URL of s.
func (x *index) decide(s *Scratch) {
	for f := range x.fields {
		x.fields[f].find(x, Field(f), s)
	}
	for _, a := range x.tried {
		if x.holdsAtom(a, s) {
			x.found(a, s)
		}
	}
	x.defaults.fold(s)
}

// find finds the atoms of a field. Norms that make the same of it are looked up
// at once.
func (fx *fieldIndex) find(x *index, f Field, s *Scratch) {
	if len(fx.lengths.atoms) > 0 {
		s.numbers = fx.lengths.appendTo(s.numbers[:0], s.view.characters(f))
		for _, a := range s.numbers {
			x.found(int32(a), s)
		}
	}
	var done [len(normNames)]bool
	for n, there := range fx.norms {
		if !there || done[n] {
			continue
		}
		text := s.view.field(f, Norm(n))
		var same [len(normNames)]bool
		for m := n; m < len(normNames); m++ {
			if fx.norms[m] && !done[m] && s.view.field(f, Norm(m)) == text {
				same[m], done[m] = true, true
			}
		}
		s.numbers = fx.literals.Append(s.numbers[:0], text)
		for _, number := range s.numbers {
			for _, t := range fx.triggers[number] {
				if same[t.norm] && (!t.guarded || x.holdsAtom(t.atom, s)) {
					x.found(t.atom, s)
				}
			}
		}
	}
}

// found looks at the clauses of an atom that holds.
func (x *index) found(atom int32, s *Scratch) {
	for _, id := range x.atoms[atom].clauses {
		c := &x.clauses[id]
		held := c.want
		if !c.single {
			held = x.holds(c.expr, s) == c.want
		}
		switch {
		case c.byDefault < 0 && held:
			s.fold(&c.effect)
		case c.byDefault >= 0 && !held:
			s.failed[c.byDefault] = s.epoch
		}
	}
}

func (x *index) holds(id int32, s *Scratch) bool {
	e := &x.exprs[id]
	switch e.op {
	case opAtom:
		return x.holdsAtom(e.atom, s)
	case opNot:
		return !x.holds(e.of[0], s)
	default:
		for _, of := range e.of {
			if x.holds(of, s) == (e.op == opOr) {
				return e.op == opOr
			}
		}
		return e.op == opAnd
	}
}

// holdsAtom matches an atom; a regular expression once per URL.
func (x *index) holdsAtom(atom int32, s *Scratch) bool {
	a := &x.atoms[atom]
	if a.memo < 0 {
		return a.matcher.matches(&s.view)
	}
	switch memo := &s.memos[a.memo]; *memo {
	case 2 * s.epoch:
		return false
	case 2*s.epoch + 1:
		return true
	default:
		*memo = 2 * s.epoch
		if a.matcher.matches(&s.view) {
			*memo++
			return true
		}
		return false
	}
}
