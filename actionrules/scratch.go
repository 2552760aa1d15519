package actionrules

import (
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// Scratch is the memory that a decision needs. The zero value is ready for any
// engine; reused, it saves all allocation. It is for one goroutine at a time.
type Scratch struct {
	index   *index // that the numbers below belong to
	view    view
	buffers buffers
	numbers []uint32 // found literals or lengths
	metas   []Meta

	// epoch is the number of the URL, never 0.
	epoch  uint32
	failed []uint32 // by number of a default clause, the last URL for which it failed
	added  []uint32 // by number of a meta, the last URL that has it
	memos  []uint32 // by number of a regular expression, twice the last URL, plus one if it matched

	last   [DimensionMetas]int32 // as in effect
	places []int32               // of metas
}

// begin makes s ready for a URL.
func (s *Scratch) begin(x *index, u weburl.URL) {
	const lastEpoch = 1<<31 - 1 // twice it must fit
	if s.index != x || s.epoch == lastEpoch {
		s.index, s.epoch = x, 0
		s.failed = cleared(s.failed, len(x.defaults.clauses))
		s.added = cleared(s.added, x.distinct)
		s.memos = cleared(s.memos, x.regexps)
	}
	s.epoch++
	s.view = view{url: u, buffers: &s.buffers}
	s.last = [DimensionMetas]int32{}
	s.places = s.places[:0]
	s.metas = s.metas[:0]
}

func cleared(s []uint32, n int) []uint32 {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// DecideInto is Decide with the caller's memory: it allocates nothing once s has
// been in use. The metas are valid until s is used again.
func (e *Engine) DecideInto(u weburl.URL, s *Scratch) Decision {
	s.begin(e.index, u)
	d := e.start(u, s.metas)
	e.index.decide(s)
	for _, place := range s.last {
		if place > 0 {
			d.apply(e.index.actions[place-1])
		}
	}
	s.addMetas(&d)
	if s.metas = d.Metas; len(d.Metas) == 0 {
		d.Metas = nil
	}
	return d
}

// addMetas adds the metas of the rules behind those of the roots.
func (s *Scratch) addMetas(d *Decision) {
	ofRoots := d.Metas
	slices.Sort(s.places)
	for _, place := range s.places {
		added := &s.added[s.index.metas[place-1]]
		if *added == s.epoch {
			continue
		}
		*added = s.epoch
		a := s.index.actions[place-1]
		if m := (Meta{a.Name, a.Value}); !slices.Contains(ofRoots, m) {
			d.Metas = append(d.Metas, m)
		}
	}
}
