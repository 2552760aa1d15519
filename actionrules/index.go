package actionrules

import "github.com/sextant-crawler/sextant/actionrules/match"

// index finds the rules that hold for a URL without looking at the others.
//
// Each rule becomes clauses: the alternatives of an Or at its top.
// Equal clauses of different rules are one, with the effect that their rules have
// together. A clause is looked at only when one of its atoms is found that it
// needs to hold; one that holds with no atom found (a Not) is assumed to, and
// looked at only when one of the atoms is found that it needs to fail.
//
// What one URL touches is spread over large tables, so that each look at another
// place costs more than the work there, so entries are small and flat.
type index struct {
	fields  [len(fieldNames)]fieldIndex
	tried   []trigger // regular expressions for whose texts no literal is known
	regexps []*matcher
	touched []int32 // clauses, as spans of triggers
	clauses []clause
	steps   []step
	effects
	defaults defaults
	// The rules of clause n are those from ruleStarts[n] to ruleStarts[n+1].
	rules      []int32
	ruleStarts []int32
}

// fieldIndex finds the atoms of one field.
type fieldIndex struct {
	literals *match.Index
	// The triggers of literal n are those from starts[n] to starts[n+1].
	starts   []uint32
	triggers []trigger
	norms    [len(normNames)]bool // which there are
	lengths  intervals
}

// trigger is the effect of finding an atom.
type trigger struct {
	clauses span // in index.touched
	regexp  int32
	norm    Norm
	// guarded is set if the literal is only a necessary part of an expression.
	guarded bool
}

// span is a part of a list.
type span struct{ first, end int32 }

// clause is a condition with its effect.
type clause struct {
	// program is the first step of its test, or the result of it.
	program   int32
	byDefault int32 // its number among those that hold with no atom found, else -1
	effect    effect
}

// step is the test of an atom. The steps of a condition are linked.
type step struct {
	matcher
	regexp int32    // its number, -1 of others
	next   [2]int32 // if the atom does not match, if it matches
}

// Values that end a chain of steps.
const (
	refused = -1
	held    = -2
)

// decide combines in s the effects of the rules that match its URL.
func (x *index) decide(s *Scratch) {
	for f := range x.fields {
		fx := &x.fields[f]
		if len(fx.lengths.triggers) > 0 {
			fx.lengths.find(x, s, s.view.characters(Field(f)), 0, len(fx.lengths.triggers))
		}
		if len(fx.triggers) > 0 {
			fx.find(x, Field(f), s)
		}
	}
	for i := range x.tried {
		x.pull(&x.tried[i], s)
	}
	x.defaults.fold(s)
}

// find finds the literals of a field. Norms that make the same of it are looked
// up at once.
func (fx *fieldIndex) find(x *index, f Field, s *Scratch) {
	if s.view.plain && f != FieldFragment {
		fx.lookUp(x, rawField(s.view.url, f), fx.norms, s)
		return
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
		fx.lookUp(x, text, same, s)
	}
}

// lookUp finds the literals of some norms in a text.
func (fx *fieldIndex) lookUp(x *index, text string, norms [len(normNames)]bool, s *Scratch) {
	s.numbers = fx.literals.Append(s.numbers[:0], text)
	for _, number := range s.numbers {
		triggers := fx.triggers[fx.starts[number]:fx.starts[number+1]]
		for i := range triggers {
			if norms[triggers[i].norm] {
				x.pull(&triggers[i], s)
			}
		}
	}
}

// pull checks the clauses of a trigger.
func (x *index) pull(t *trigger, s *Scratch) {
	if t.guarded && !x.matches(t.regexp, s) {
		return
	}
	for _, id := range x.touched[t.clauses.first:t.clauses.end] {
		c := &x.clauses[id]
		switch holds := x.run(c.program, s); {
		case c.byDefault < 0 && holds:
			s.fold(x, &c.effect)
			if s.collects {
				s.held = append(s.held, id)
			}
		case c.byDefault >= 0 && !holds:
			s.failed[c.byDefault] = s.epoch
		}
	}
}

// run goes through the steps of a test.
func (x *index) run(i int32, s *Scratch) bool {
	for i >= 0 {
		st := &x.steps[i]
		next := 0
		if st.regexp >= 0 && x.matches(st.regexp, s) || st.regexp < 0 && st.matches(&s.view) {
			next = 1
		}
		i = st.next[next]
	}
	return i == held
}

// matches matches a regular expression, once per URL.
func (x *index) matches(regexp int32, s *Scratch) bool {
	switch memo := &s.memos[regexp]; *memo {
	case 2 * s.epoch:
		return false
	case 2*s.epoch + 1:
		return true
	default:
		*memo = 2 * s.epoch
		if x.regexps[regexp].matches(&s.view) {
			*memo++
			return true
		}
		return false
	}
}
