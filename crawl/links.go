package crawl

import (
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// refreshIsRedirect is the longest wait, in seconds, of a meta refresh that
// counts as a redirect; a slower one is a link.
const refreshIsRedirect = 5

// base is what the references of a page are relative to.
func base(page weburl.URL, p extract.Page) weburl.Base {
	b, err := weburl.NewBase(page.String())
	if err != nil {
		panic("a canonical URL does not parse: " + err.Error()) // weburl's own promise
	}
	if p.Base != "" {
		b = b.Rebase(p.Base)
	}
	return b
}

// links judges the references of a page: the ones that the rules crawl, each
// once, in page order.
func (c *Crawl) links(lease *scheduler.Lease, p extract.Page) []scheduler.Link {
	b := base(lease.URL, p)
	links := make([]scheduler.Link, 0, len(p.Links))
	seen := make(map[string]struct{}, len(p.Links)+1)
	seen[lease.URL.String()] = struct{}{}
	referrer := lease.URL.String()
	add := func(href string) {
		u, err := b.Resolve(href)
		if err != nil {
			return // mailto:, javascript: and what is no URL at all are no links
		}
		if _, ok := seen[u.String()]; ok {
			return
		}
		seen[u.String()] = struct{}{}
		if l, ok := c.judge.link(u); ok {
			l.Depth, l.Referrer = lease.Record.Depth+1, referrer
			links = append(links, l)
		}
	}
	for _, l := range p.Links {
		if !l.NoFollow || c.settings.IgnoreNoFollow {
			add(l.Href)
		}
	}
	if p.Refresh != "" {
		add(p.Refresh)
	}
	return links
}

// isItself says whether a meta refresh only loads the page again.
func isItself(lease *scheduler.Lease, p extract.Page) bool {
	u, err := base(lease.URL, p).Resolve(p.Refresh)
	return err == nil && u.Key() == lease.Key
}
