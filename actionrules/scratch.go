package actionrules

import (
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// Scratch is the memory that a decision needs. The zero value is ready for any
// engine; reused, it saves all allocation. It is for one goroutine at a time.
type Scratch struct {
	index   *index // the engine that the numbers below belong to
	view    view
	buffers buffers
	numbers []uint32 // found literals or lengths
	metas   []Meta

	// epoch is the number of the URL, never 0.
	epoch  uint32
	failed []uint32 // by number of a default clause: the last URL for which it failed
	seen   []uint32 // by number of a meta, the last URL that has it
	memos  []uint32 // by number of a regular expression, twice the last URL, plus one if it matched

	last  settings
	added []addition

	// held contains the clauses that hold, except default ones, if collects is set.
	collects bool
	held     []int32
}

// begin makes s ready for a URL.
func (s *Scratch) begin(x *index, u weburl.URL) {
	const lastEpoch = 1<<31 - 1 // twice it must fit
	if s.index != x || s.epoch == lastEpoch {
		s.index, s.epoch = x, 0
		s.failed = cleared(s.failed, x.defaults.number)
		s.seen = cleared(s.seen, len(x.metas))
		s.memos = cleared(s.memos, len(x.regexps))
	}
	s.epoch++
	s.view = view{url: u, buffers: &s.buffers}
	s.view.plain = traitsOf(u.String()) == 0
	s.last = settings{}
	s.added = s.added[:0]
}

func cleared(s []uint32, n int) []uint32 {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// DecideInto is Decide with the caller's memory: it allocates nothing when s is reused. The metas are valid until s is
// used again.
func (e *Engine) DecideInto(u weburl.URL, s *Scratch) Decision {
	s.begin(e.index, u)
	d := e.start(u, s.metas[:0])
	e.index.decide(s)
	e.index.apply(&d, s)
	if s.metas = d.Metas; len(d.Metas) == 0 {
		d.Metas = nil
	}
	return d
}
