package actionrules

import (
	"cmp"
	"slices"
)

// setting encodes an action, without AddMeta, as a number that is greater for a later action: its position among all
// actions, from 1, and its value in the last bits. 0 is no action.
type setting int32

const valueBits = 3

func newSetting(a *Action, place int32) setting {
	value := 0
	switch a.Verb {
	case Accept, Index, Follow:
		value = 1
	case Priority:
		value = a.Shift + 2
	case Ignore, NoIndex, NoFollow, SetSource, AddMeta:
	}
	return setting(place)<<valueBits | setting(value)
}

func (s setting) value() int   { return int(s & (1<<valueBits - 1)) }
func (s setting) place() int32 { return int32(s >> valueBits) }

// settings are by dimension the last one.
type settings [DimensionMetas]setting

// effect is the combined effect of several rules. The later action wins, so effects can be combined in any order.
type effect struct {
	last  settings
	metas span // in effects.added
}

// effects are the tables that the effects of clauses refer to.
type effects struct {
	actions []*Action // of all rules, in order
	added   []addition
	metas   []Meta // different ones
}

// addition is an AddMeta.
type addition struct{ place, meta int32 }

// apply converts the combined effects on the URL of s into a decision.
func (x *effects) apply(d *Decision, s *Scratch) {
	if set := s.last[DimensionAccept]; set > 0 {
		d.Accept = set.value() == 1
	}
	if set := s.last[DimensionIndex]; set > 0 {
		d.Index = set.value() == 1
	}
	if set := s.last[DimensionFollow]; set > 0 {
		d.Follow = set.value() == 1
	}
	if set := s.last[DimensionSource]; set > 0 {
		d.Source = x.actions[set.place()-1].Name
	}
	if set := s.last[DimensionPriority]; set > 0 {
		d.Shift, d.ShiftSet = set.value()-2, true
	}
	ofRoots := d.Metas
	slices.SortFunc(s.added, func(a, b addition) int { return cmp.Compare(a.place, b.place) })
	for _, a := range s.added {
		if s.seen[a.meta] == s.epoch {
			continue
		}
		s.seen[a.meta] = s.epoch
		if m := x.metas[a.meta]; !slices.Contains(ofRoots, m) {
			d.Metas = append(d.Metas, m)
		}
	}
}

// fold adds an effect to those on the URL.
func (s *Scratch) fold(x *index, e *effect) {
	for d, set := range e.last {
		s.last[d] = max(s.last[d], set)
	}
	if e.metas.end > e.metas.first {
		s.added = append(s.added, x.added[e.metas.first:e.metas.end]...)
	}
}

// defaults are the clauses that hold as long as no atom is found that they need
// to fail. Their effect is known except those that have failed.
type defaults struct {
	number int
	last   [DimensionMetas][]defaultSetting // the last one first
	metas  [][]defaultAddition              // by meta, the first one first
}

type defaultSetting struct {
	setting
	byDefault int32
}

type defaultAddition struct {
	addition
	byDefault int32
}

func (d *defaults) build(x *index) {
	metas := make([][]defaultAddition, len(x.metas))
	for _, c := range x.clauses {
		if c.byDefault < 0 {
			continue
		}
		d.number++
		for dim, set := range c.effect.last {
			if set > 0 {
				d.last[dim] = append(d.last[dim], defaultSetting{set, c.byDefault})
			}
		}
		for _, a := range x.added[c.effect.metas.first:c.effect.metas.end] {
			metas[a.meta] = append(metas[a.meta], defaultAddition{a, c.byDefault})
		}
	}
	for _, list := range d.last {
		slices.SortFunc(list, func(a, b defaultSetting) int { return cmp.Compare(b.setting, a.setting) })
	}
	for _, list := range metas {
		if len(list) > 0 {
			slices.SortFunc(list, func(a, b defaultAddition) int { return cmp.Compare(a.place, b.place) })
			d.metas = append(d.metas, list)
		}
	}
}

// fold adds the effect of those that have not failed.
func (d *defaults) fold(s *Scratch) {
	for dim, list := range d.last {
		for _, set := range list {
			if s.failed[set.byDefault] != s.epoch {
				s.last[dim] = max(s.last[dim], set.setting)
				break
			}
		}
	}
	for _, list := range d.metas {
		for _, a := range list {
			if s.failed[a.byDefault] != s.epoch {
				s.added = append(s.added, a.addition)
				break
			}
		}
	}
}
