package crawl

import (
	"context"
	"maps"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// movedSites is the name under which the store remembers the sites that took
// the place of a root whose home page redirects to them.
const (
	movedSites = "moved-sites"
	movedWhat  = "the list of moved sites"
)

// moves are the sites that moved: a configured root to the page that its home
// page redirects to.
type moves map[string]string

// storedMoves reads what the store remembers.
func storedMoves(ctx context.Context, store scheduler.Store) (moves, error) {
	moved := moves{}
	err := loadValue(ctx, store, movedSites, movedWhat, &moved)
	return moved, err
}

// movedRoots are roots with the sites that moved at their new place.
func movedRoots(roots []actionrules.Root, moved moves) []actionrules.Root {
	var out []actionrules.Root
	for _, root := range roots {
		to, err := weburl.Parse(moved[root.URL.String()])
		if err != nil || !root.Site {
			out = append(out, root)
			continue
		}
		// The old home page stays a root, or nobody would see it come back.
		home := root
		home.Site = false
		out = append(out, home)
		if to, err = weburl.Parse(to.Origin() + "/"); err == nil {
			root.URL = to
			out = append(out, root)
		}
	}
	return out
}

// moveSite lets the whole site that to lies in stand for the root's whose home
// page from is, because that redirects there. It does nothing if from is no
// site's home page, or if the target lies in a root's site already, as
// http://www.example.com/ in that of http://example.com/.
func (c *Crawl) moveSite(ctx context.Context, from, to weburl.URL) error {
	if c.judge.current.Load().rootOf(from) == "" {
		return nil
	}
	return c.replace(ctx, false, func(old *policy) (*policy, error) {
		root := old.rootOf(from)
		if root == "" || old.engine.Explain(to).Start.Site >= 0 {
			return old, nil
		}
		moved := maps.Clone(old.moved)
		moved[root] = to.String()
		return c.remember(ctx, old, moved)
	})
}

// cameBack ends the move of a root whose home page is a page again, and says
// whether it was one.
func (c *Crawl) cameBack(ctx context.Context, page weburl.URL) (bool, error) {
	if _, ok := c.judge.current.Load().moved[page.String()]; !ok {
		return false, nil
	}
	return true, c.replace(ctx, false, func(old *policy) (*policy, error) {
		if _, ok := old.moved[page.String()]; !ok {
			return old, nil
		}
		moved := maps.Clone(old.moved)
		delete(moved, page.String())
		return c.remember(ctx, old, moved)
	})
}

// remember stores the moves and makes the policy with them.
func (c *Crawl) remember(ctx context.Context, old *policy, moved moves) (*policy, error) {
	p, err := newPolicy(old.settings, moved)
	if err != nil {
		return nil, err
	}
	p.accesses, p.robots, p.traps = old.accesses, old.robots, old.traps
	return p, saveValue(ctx, c.store, movedSites, movedWhat, moved)
}

// rootOf is the configured root whose home page u is, at its own place or where
// it moved to; "" if it is none's. A root with a path of its own is no home page.
func (p *policy) rootOf(u weburl.URL) string {
	for _, root := range p.settings.Rules.Roots {
		name := root.URL.String()
		if root.Site && root.URL.PathAndQuery() == "/" && (name == u.String() || p.moved[name] == u.String()) {
			return name
		}
	}
	return ""
}
