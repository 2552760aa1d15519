package crawl

import (
	"context"
	"maps"
	"reflect"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// observeHome records where a page that represents a site leads: the home page of a root, or the page that it moved to.
// If to is zero, the URL is itself a page; firm is MoveEvidence.Permanent.
func (c *Crawl) observeHome(ctx context.Context, from, to weburl.URL, firm bool) error {
	p := c.policy()
	root, ok := p.RootOf(from)
	if _, known := p.Moved[root.String()]; !ok || to.IsZero() && !known {
		return nil
	}
	return c.replace(ctx, false, func(old *policy.Policy) (*policy.Policy, error) {
		root, ok := old.RootOf(from)
		if !ok {
			return old, nil
		}
		h, err := c.moveEvidence(ctx, old, root, from, to)
		if err != nil {
			return nil, err
		}
		h.Permanent = firm
		before := old.Moved[root.String()]
		after := before.After(root, &h)
		if reflect.DeepEqual(before, after) {
			return old, nil
		}
		moved := maps.Clone(old.Moved)
		if moved[root.String()] = after; reflect.DeepEqual(after, policy.Move{}) {
			delete(moved, root.String())
		}
		if before.To == after.To && before.Back == after.Back {
			return old.WithMoves(moved), policy.SaveMoves(ctx, c.store, moved)
		}
		return c.move(ctx, old, moved, to)
	})
}

// moveEvidence gathers the facts needed to judge where a page of a root's site leads.
func (c *Crawl) moveEvidence(ctx context.Context, p *policy.Policy, root, from, to weburl.URL) (h policy.MoveEvidence, err error) {
	h = policy.MoveEvidence{From: from, To: to, Now: time.Now().UTC().Truncate(time.Second)}
	if !to.IsZero() {
		if h.To, err = c.endOf(ctx, to); err != nil {
			return h, err
		}
		h.Inside = p.Engine.Explain(h.To).Start.Site >= 0
	}
	if h.Own, err = c.hasDocuments(ctx, root); err != nil {
		return h, err
	}
	m := p.Moved[root.String()]
	if place, ok := m.Place(); ok {
		h.There, err = c.hasDocuments(ctx, place)
	}
	return h, err
}

// endOf follows the stored redirects of a URL, because a site may move in two steps.
func (c *Crawl) endOf(ctx context.Context, u weburl.URL) (weburl.URL, error) {
	for range redirectSteps {
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

// hasDocuments reports whether documents of a site are stored.
func (c *Crawl) hasDocuments(ctx context.Context, site weburl.URL) (bool, error) {
	for _, origin := range policy.OriginsOf(site) {
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

// move stores other moves and returns the policy with them. A site does not move outside the crawl space, because it
// would no longer be crawled.
func (c *Crawl) move(ctx context.Context, old *policy.Policy, moved policy.Moves, to weburl.URL) (*policy.Policy, error) {
	p, err := policy.New(old.Settings, moved)
	if err != nil {
		return nil, err
	}
	if !to.IsZero() {
		if _, _, ok := p.Link(crawlspace.Link{URL: to}); !ok {
			return old, nil
		}
	}
	return p, policy.SaveMoves(ctx, c.store, moved)
}

// visitSites is the part of a Crawl that visits use.
type visitSites struct{ c *Crawl }

// InForce implements visit.Sites.
func (k visitSites) InForce() *visit.Rules { return k.c.inForce() }

// ObserveHome implements visit.Sites.
func (k visitSites) ObserveHome(ctx context.Context, from, to weburl.URL, firm bool) error {
	return k.c.observeHome(ctx, from, to, firm)
}

// Restrict implements visit.Sites.
func (k visitSites) Restrict(u weburl.URL) { k.c.reviewer.Restrict(u) }

// AwaitRate implements visit.Sites.
func (k visitSites) AwaitRate(ctx context.Context) error { return k.c.gates.limits.await(ctx) }

// WasRoot implements visit.Sites.
func (k visitSites) WasRoot(key weburl.Key) bool {
	former := k.c.persistent.former.Load()
	return former != nil && (*former)[key]
}
