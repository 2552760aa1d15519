package crawl

import (
	"strings"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
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
func (v *visit) links(p extract.Page) []scheduler.Link {
	b := base(v.lease.URL, p)
	links := make([]scheduler.Link, 0, len(p.Links))
	seen := make(map[string]struct{}, len(p.Links)+1)
	seen[v.lease.URL.String()] = struct{}{}
	isNew := func(u weburl.URL) bool {
		n := len(seen)
		seen[u.String()] = struct{}{}
		return len(seen) > n
	}
	referrer, depth := v.lease.URL.String(), int(v.lease.Record.Depth)+1
	add := func(href string) {
		u, err := b.Resolve(href)
		if err != nil || !isNew(u) {
			return // mailto:, javascript: and what is no URL at all are no links
		}
		l, _, ok := v.policy.link(crawlspace.Link{URL: u, Host: v.spelling(href, u), Depth: depth})
		// Of URLs that differ in what the query filter drops, the first counts.
		if ok && (l.URL.String() == u.String() || isNew(l.URL)) {
			l.Referrer = referrer
			links = append(links, l)
		}
	}
	if p.LinksCut {
		v.log.Info("a page has more links than are read of one: the rest is left out", "url", referrer, "links", len(p.Links))
	}
	for _, l := range p.Links {
		if !l.NoFollow || v.policy.settings.IgnoreNoFollow {
			add(l.Href)
		}
	}
	if p.Refresh != "" {
		add(p.Refresh)
	}
	return links
}

// spelling is the host of u as a reference on the page spells it, or, where it
// names none, as the page's own was; it may be empty.
func (v *visit) spelling(href string, u weburl.URL) string {
	if host := hostIn(href); host != "" || u.Host() != v.lease.URL.Host() {
		return host
	}
	return v.lease.Record.HostSpelling
}

// hostIn is the host that a reference spells, "" if it names none.
func hostIn(href string) string {
	_, rest, ok := strings.Cut(href, "//")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
		rest = rest[:i]
	}
	return strings.Trim(rest, "[]")
}

// isItself says whether a meta refresh only loads the page again.
func isItself(lease *scheduler.Lease, p extract.Page) bool {
	u, err := base(lease.URL, p).Resolve(p.Refresh)
	return err == nil && u.Key() == lease.Key
}
