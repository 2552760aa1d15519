package actionrules

import (
	"cmp"
	"slices"
)

// effect is what several rules do together, as places of actions: the later one
// wins, so that effects are put together in any order.
type effect struct {
	last  [DimensionMetas]int32 // by dimension, the place of the last action; 0 is none
	metas []int32               // the places of the metas, in order, of equal ones the first
}

// addActions adds to a clause's effect the actions from the place first on, the
// last ones that there are.
func (b *indexBuilder) addActions(clause, first int32) {
	e := &b.clauses[clause].effect
	for place := first; place <= int32(len(b.actions)); place++ {
		if d := b.actions[place-1].Verb.Dimension(); d != DimensionMetas {
			e.last[d] = place
			continue
		}
		key := clauseMeta{clause, b.metas[place-1]}
		if !b.clauseMetas[key] {
			b.clauseMetas[key] = true
			e.metas = append(e.metas, place)
		}
	}
}

// fold adds an effect to what holds for the URL.
func (s *Scratch) fold(e *effect) {
	for d, place := range e.last {
		s.last[d] = max(s.last[d], place)
	}
	if len(e.metas) > 0 {
		s.places = append(s.places, e.metas...)
	}
}

// defaults are the clauses that hold as long as no atom is found that they need
// to fail. Their effect is known but for those that have failed.
type defaults struct {
	clauses []int32
	last    [DimensionMetas][]defaultAction // the last action first
	metas   [][]defaultAction               // by meta, the first action first
}

// defaultAction is an action of a clause that holds by default.
type defaultAction struct{ place, byDefault int32 }

func (d *defaults) build(x *index) {
	metas := map[int32][]defaultAction{}
	for i, id := range d.clauses {
		e := &x.clauses[id].effect
		for dim, place := range e.last {
			if place > 0 {
				d.last[dim] = append(d.last[dim], defaultAction{place, int32(i)})
			}
		}
		for _, place := range e.metas {
			m := x.metas[place-1]
			metas[m] = append(metas[m], defaultAction{place, int32(i)})
		}
	}
	for _, list := range d.last {
		slices.SortFunc(list, func(a, b defaultAction) int { return cmp.Compare(b.place, a.place) })
	}
	for _, list := range metas {
		slices.SortFunc(list, func(a, b defaultAction) int { return cmp.Compare(a.place, b.place) })
		d.metas = append(d.metas, list)
	}
}

// fold adds what those have as effect that have not failed.
func (d *defaults) fold(s *Scratch) {
	for dim, list := range d.last {
		if a, ok := s.firstHeld(list); ok {
			s.last[dim] = max(s.last[dim], a.place)
		}
	}
	for _, list := range d.metas {
		if a, ok := s.firstHeld(list); ok {
			s.places = append(s.places, a.place)
		}
	}
}

// firstHeld is the first action of a list whose clause has not failed.
func (s *Scratch) firstHeld(list []defaultAction) (a defaultAction, ok bool) {
	for _, a := range list {
		if s.failed[a.byDefault] != s.epoch {
			return a, true
		}
	}
	return defaultAction{}, false
}
