package crawl

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// StatusExcluded is the status of a stored URL that rules exclude (IBM crawl space, 760).
const StatusExcluded = 760

// judge decides about URLs by the rules in force. Any number of goroutines may ask at once.
type judge struct {
	engine atomic.Pointer[actionrules.Engine]

	mu    sync.Mutex
	rules actionrules.RuleSet
	moved moves
	// inForce are the roots with moved sites at their new place.
	inForce []actionrules.Root
}

// newJudge compiles the rules, with the moved sites that the store remembers.
func newJudge(ctx context.Context, rules actionrules.RuleSet, store scheduler.Store) (*judge, error) {
	moved, err := storedMoves(ctx, store)
	if err != nil {
		return nil, err
	}
	j := &judge{rules: rules, moved: moved}
	return j, j.compile()
}

// compile makes an engine of the rules in which moved roots stand at their new place.
func (j *judge) compile() error {
	rules := j.rules
	rules.Roots = movedRoots(j.rules.Roots, j.moved)
	engine, errs := actionrules.Compile(rules)
	if len(errs) > 0 {
		return errs[0]
	}
	j.inForce = rules.Roots
	j.engine.Store(engine)
	return nil
}

// decide asks the rules in force.
func (j *judge) decide(u weburl.URL) actionrules.Decision { return j.engine.Load().Decide(u) }

// exclusion says in the operator's words why the rules ignore u.
func (j *judge) exclusion(u weburl.URL) *scheduler.Exclusion {
	x := j.engine.Load().Explain(u)
	words := "no rule accepts it"
	if i, _ := x.ExcludedBy(); i >= 0 {
		words = fmt.Sprintf("rule %d at %s", i, x.Rules[i].At)
	}
	return &scheduler.Exclusion{Status: StatusExcluded, Words: words}
}

// link places a discovered URL in a fifo, or returns false if the rules ignore it.
func (j *judge) link(u weburl.URL) (scheduler.Link, bool) {
	d := j.decide(u)
	if !d.Crawl() {
		return scheduler.Link{}, false
	}
	return scheduler.Link{URL: u, Fifo: fifoOf(d), Shift: int8(d.Shift), Root: d.Root}, true
}

// fifoOf is the source that a decision puts a URL into.
func fifoOf(d actionrules.Decision) scheduler.Source {
	return scheduler.SourceFor(d.Index, d.Follow, d.Shift, d.Root)
}

// redirectLink judges the target of a redirect from a URL with this shift, which
// it keeps unless a rule gives it its own.
func (j *judge) redirectLink(u weburl.URL, shift int8) (scheduler.Link, bool) {
	l, ok := j.link(u)
	if !ok {
		return l, false
	}
	if !j.decide(u).ShiftSet {
		l.Shift = shift
	}
	return l, true
}

// roots are the start URLs in force, moved sites included.
func (j *judge) roots() []actionrules.Root {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.inForce
}
