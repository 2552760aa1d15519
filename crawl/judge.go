package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// StatusExcluded is the status of a stored URL that rules exclude (IBM crawl space, 760).
const StatusExcluded = 760

// movedSites is the name under which the store remembers the sites that took
// the place of a root whose home page redirects to them.
const movedSites = "moved-sites"

// judge decides about URLs by the rules in force. Any number of goroutines may ask at once.
type judge struct {
	engine atomic.Pointer[actionrules.Engine]

	mu    sync.Mutex
	rules actionrules.RuleSet
	moved map[string]string // root URL to the site's new home page
	// inForce are the roots with moved sites at their new place.
	inForce []actionrules.Root
}

// newJudge compiles the rules, with the moved sites that the store remembers.
func newJudge(ctx context.Context, rules actionrules.RuleSet, store scheduler.Store) (*judge, error) {
	j := &judge{rules: rules, moved: map[string]string{}}
	saved, err := store.Value(ctx, movedSites)
	if err != nil {
		return nil, err
	}
	if saved != nil {
		if err := json.Unmarshal(saved, &j.moved); err != nil {
			return nil, fmt.Errorf("%w: the list of moved sites cannot be read: %w", scheduler.ErrDamaged, err)
		}
	}
	return j, j.compile()
}

// compile makes an engine of the rules in which moved roots stand at their new place.
func (j *judge) compile() error {
	rules := j.rules
	rules.Roots = nil
	for _, root := range j.rules.Roots {
		to, ok := j.moved[root.URL.String()]
		if !ok || !root.Site {
			rules.Roots = append(rules.Roots, root)
			continue
		}
		// The old home page stays a root, or nobody would see it come back.
		home := root
		home.Site = false
		rules.Roots = append(rules.Roots, home)
		if u, err := weburl.Parse(to); err == nil {
			root.URL = u
			rules.Roots = append(rules.Roots, root)
		}
	}
	engine, errs := actionrules.Compile(rules)
	if len(errs) > 0 {
		return errs[0]
	}
	j.inForce = rules.Roots
	j.engine.Store(engine)
	return nil
}

// moveSite lets the site that to lies in stand for the root's, whose home page
// redirects there. It does nothing if root is no site's home page, or if the
// target lies in a root's site already, as http://www.example.com/ in that of
// http://example.com/.
func (j *judge) moveSite(ctx context.Context, root, to weburl.URL, store scheduler.Store) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.isSiteRoot(root) || j.engine.Load().Explain(to).Start.Site >= 0 {
		return nil
	}
	j.moved[root.String()] = to.Origin() + "/"
	saved, err := json.Marshal(j.moved)
	if err != nil {
		return err
	}
	if err := store.SetValue(ctx, movedSites, saved); err != nil {
		return err
	}
	return j.compile()
}

// isSiteRoot says whether u is the home page of a configured site: a root
// without a path of its own.
func (j *judge) isSiteRoot(u weburl.URL) bool {
	if u.PathAndQuery() != "/" {
		return false
	}
	for _, root := range j.rules.Roots {
		if root.Site && root.URL.Key() == u.Key() {
			return true
		}
	}
	return false
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
