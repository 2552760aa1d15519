package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// RootLinks returns the roots in force as links. It omits those that are outside, and passes them to refused unless
// that is nil.
func (p *Policy) RootLinks(refused func(root weburl.URL, v *Verdict)) []scheduler.Link {
	var links []scheduler.Link
	for _, root := range p.roots {
		l, v, ok := p.Link(crawlspace.Link{URL: root.URL})
		if !ok {
			if refused != nil {
				refused(root.URL, &v)
			}
			continue
		}
		l.Root = true
		links = append(links, l)
	}
	return links
}

// RootKeys are the configured roots that would come back: those inside.
func (p *Policy) RootKeys() map[weburl.Key]string {
	keys := map[weburl.Key]string{}
	for _, r := range p.roots {
		if l, _, ok := p.Link(crawlspace.Link{URL: r.URL}); ok {
			keys[l.URL.Key()] = l.URL.String()
		}
	}
	return keys
}

// IsRoot reports whether a URL is a root of the configuration.
func (p *Policy) IsRoot(u weburl.URL) bool {
	return slices.ContainsFunc(p.roots, func(r actionrules.Root) bool { return r.URL.Key() == u.Key() })
}

// GroupSites accepts URLs in the sites of a group's roots.
func (p *Policy) GroupSites(group string) (*actionrules.Engine, error) {
	var set actionrules.RuleSet
	var groups []string
	for _, r := range p.roots {
		if r.Group == group {
			set.Roots = append(set.Roots, r)
		}
		if !slices.Contains(groups, r.Group) && r.Group != "" {
			groups = append(groups, r.Group)
		}
	}
	if len(set.Roots) == 0 {
		return nil, fmt.Errorf("no root has the group %q: write one of %s", group, strings.Join(groups, ", "))
	}
	e, errs := actionrules.Compile(set)
	return e, errors.Join(errs...)
}

// SitelessRoots returns all roots in force, by key, with true for those of a group that have no site; nil if the group
// has none.
func (p *Policy) SitelessRoots(group string) map[weburl.Key]bool {
	roots, some := map[weburl.Key]bool{}, false
	for _, r := range p.roots {
		siteless := r.Group == group && !r.Site
		k := p.Space.Rewrite(r.URL).Key()
		roots[k] = roots[k] || siteless
		some = some || siteless
	}
	if !some {
		return nil
	}
	return roots
}

// RootOf returns the configured root whose home page u is, at its own place or at the one that it moved to. A root with
// a path does not count.
func (p *Policy) RootOf(u weburl.URL) (root weburl.URL, ok bool) {
	for _, root := range p.Settings.Rules.Roots {
		name := root.URL.String()
		if root.Site && root.URL.PathAndQuery() == "/" && (name == u.String() || p.Moved[name].To == u.String()) {
			return root.URL, true
		}
	}
	return weburl.URL{}, false
}

// Stays returns why the site of a home page that redirects does not move, or "" if it belongs to no root.
func (p *Policy) Stays(home weburl.URL, firm bool) string {
	root, ok := p.RootOf(home)
	if !ok {
		return ""
	}
	m := p.Moved[root.String()]
	if s, seen := m.Seen[home.String()]; seen {
		return "wait: its site moves there if it is still so after " + clock.Stamp(s.Since.Add(moveAfter))
	}
	if !firm {
		return "wait: a temporary redirect moves no site of which documents are stored"
	}
	return ""
}
