package crawl

import (
	"context"
	"maps"
	"reflect"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// movedSites is the name under which the store remembers the sites that took
// the place of a root whose home page redirects to them.
const (
	movedSites = "moved-sites"
	movedWhat  = "the list of moved sites"
)

// storedMoves reads what the store remembers.
func storedMoves(ctx context.Context, store scheduler.Store) (moves, error) {
	moved := moves{}
	err := scheduler.LoadValue(ctx, store, movedSites, movedWhat, &moved)
	return moved, err
}

// movedRoots are roots with the sites that moved at their new place.
func movedRoots(roots []actionrules.Root, moved moves) []actionrules.Root {
	var out []actionrules.Root
	for _, root := range roots {
		m := moved[root.URL.String()]
		to, ok := m.place()
		if !ok || !root.Site {
			out = append(out, root)
			continue
		}
		// The old home page stays a root, or nobody would see it come back.
		home := root
		home.Site = m.Back
		out = append(out, home)
		root.URL = to
		out = append(out, root)
	}
	return out
}

// homeLeads takes in where a page leads that stands for a site: the home page of a root, or
// the page that it moved to. A zero to says that it is a page itself; firm is as in heading.
func (c *Crawl) homeLeads(ctx context.Context, from, to weburl.URL, firm bool) error {
	p := c.policy()
	root, ok := p.rootOf(from)
	if _, known := p.moved[root.String()]; !ok || to.IsZero() && !known {
		return nil
	}
	return c.replace(ctx, false, func(old *policy) (*policy, error) {
		root, ok := old.rootOf(from)
		if !ok {
			return old, nil
		}
		h, err := c.heading(ctx, old, root, from, to)
		if err != nil {
			return nil, err
		}
		h.firm = firm
		before := old.moved[root.String()]
		after := before.after(root, &h)
		if reflect.DeepEqual(before, after) {
			return old, nil
		}
		moved := maps.Clone(old.moved)
		if moved[root.String()] = after; reflect.DeepEqual(after, move{}) {
			delete(moved, root.String())
		}
		if before.To == after.To && before.Back == after.Back {
			other := *old
			other.moved = moved
			return &other, scheduler.SaveValue(ctx, c.store, movedSites, movedWhat, moved)
		}
		return c.move(ctx, old, moved, to)
	})
}

// heading gathers what is to be known to judge where a page of a root's site leads.
func (c *Crawl) heading(ctx context.Context, p *policy, root, from, to weburl.URL) (h heading, err error) {
	h = heading{from: from, to: to, now: time.Now().UTC().Truncate(time.Second)}
	if !to.IsZero() {
		if h.to, err = c.endOf(ctx, to); err != nil {
			return h, err
		}
		h.inside = p.engine.Explain(h.to).Start.Site >= 0
	}
	if h.own, err = c.hasDocuments(ctx, root); err != nil {
		return h, err
	}
	m := p.moved[root.String()]
	if place, ok := m.place(); ok {
		h.there, err = c.hasDocuments(ctx, place)
	}
	return h, err
}

// endOf follows what is stored of where a URL redirects to: a site may move in two steps.
func (c *Crawl) endOf(ctx context.Context, u weburl.URL) (weburl.URL, error) {
	for range maxCanonicals {
		r, err := scheduler.Find(ctx, c.store, u.Key())
		if err != nil || r == nil || r.RedirectTo == "" || r.Indexed {
			return u, err
		}
		next, ok := weburl.FromCanonical(r.RedirectTo)
		if !ok {
			return u, nil
		}
		u = next
	}
	return u, nil
}

// hasDocuments says whether documents of a site are stored.
func (c *Crawl) hasDocuments(ctx context.Context, site weburl.URL) (bool, error) {
	for _, origin := range originsOf(site) {
		home, err := weburl.Parse(origin + "/")
		if err != nil {
			continue // no host name
		}
		d, err := c.store.Documents(ctx, home.HostKey())
		if err != nil || d.Count > 0 {
			return d.Count > 0, err
		}
	}
	return false, nil
}

// move makes the policy with other moves, which it stores. A site does not move to where the
// crawl space refuses it: nothing of it would be crawled any more.
func (c *Crawl) move(ctx context.Context, old *policy, moved moves, to weburl.URL) (*policy, error) {
	p, err := newPolicy(old.settings, moved)
	if err != nil {
		return nil, err
	}
	if !to.IsZero() {
		if _, _, ok := p.link(crawlspace.Link{URL: to}); !ok {
			return old, nil
		}
	}
	return p, scheduler.SaveValue(ctx, c.store, movedSites, movedWhat, moved)
}

// rootOf is the configured root whose home page u is, at its own place or where it moved to.
// A root with a path of its own is no home page.
func (p *policy) rootOf(u weburl.URL) (root weburl.URL, ok bool) {
	for _, root := range p.settings.Rules.Roots {
		name := root.URL.String()
		if root.Site && root.URL.PathAndQuery() == "/" && (name == u.String() || p.moved[name].To == u.String()) {
			return root.URL, true
		}
	}
	return weburl.URL{}, false
}
