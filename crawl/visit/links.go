package visit

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

// BaseOf returns the base of a page's relative references.
func BaseOf(page weburl.URL, p extract.Page) weburl.Base {
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
// once, in page order. A known URL was judged when it became known, and is judged again when rules change; a link to
// it is not.
func (v *visit) links(p extract.Page) []scheduler.Link {
	b := BaseOf(v.lease.URL, p)
	links := make([]scheduler.Link, 0, len(p.Links))
	seen := make(spellings[weburl.Key], len(p.Links)+1)
	seen.accept(v.lease.Key)
	judgesKnown := v.policy.JudgesKnown()
	referrer, depth := v.lease.URL.String(), int(v.lease.Record.Depth)+1
	add := func(href string) {
		u, err := b.Resolve(href)
		if err != nil {
			return // mailto:, javascript: and invalid URLs are no links
		}
		k := u.Key()
		if !judgesKnown && v.store.Remembers(k) {
			if seen.accept(k) {
				links = append(links, scheduler.Link{URL: u, Known: k})
			}
			return
		}
		host := v.spelling(href, u)
		if !seen.open(k, v.policy.Spelled(u), host) {
			return
		}
		l, _, ok := v.policy.Link(crawlspace.Link{URL: u, Host: host, Depth: depth})
		if !ok {
			return
		}
		seen.accept(k)
		// Of URLs that differ only in dropped query parameters, the first counts.
		if l.URL.String() == u.String() || seen.accept(l.URL.Key()) {
			l.Referrer = referrer
			links = append(links, l)
		}
	}
	for _, l := range p.Links {
		if !l.NoFollow || v.policy.Settings.IgnoreNoFollow {
			add(l.Href)
		}
	}
	if p.Refresh != "" {
		add(p.Refresh)
	}
	return links
}

// spellings contains the URLs that a page, or a list of links, has named, each with the spelling that was last refused:
// of several spellings of one URL, the first accepted one counts.
type spellings[K comparable] map[K]string

// accepted represents the accepted spelling of a URL; no spelling begins like this.
const accepted = "\x00"

// open reports whether a link must be judged: its URL was neither accepted nor last refused in this spelling of
// fragment and host.
func (s spellings[K]) open(k K, u weburl.URL, host string) bool {
	spelling := u.Fragment()
	if host != u.Host() && host != "" {
		spelling = "//" + host + "#" + spelling
	}
	last, known := s[k]
	if known && (last == accepted || last == spelling) {
		return false
	}
	s[k] = spelling
	return true
}

// accept notes that a URL is accepted, and reports whether it was not before.
func (s spellings[K]) accept(k K) bool {
	before := s[k]
	s[k] = accepted
	return before != accepted
}

// spelling returns the host of u as spelled by a reference on the page or, for a relative one, by the page's own URL;
// it may be empty.
func (v *visit) spelling(href string, u weburl.URL) string {
	if host := HostIn(href); host != "" || u.Host() != v.lease.URL.Host() {
		return host
	}
	return v.lease.Record.HostSpelling
}

// HostIn returns the host in a reference, as spelled, or "".
func HostIn(href string) string {
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

// isItself reports whether a meta refresh only loads the page again.
func isItself(lease *scheduler.Lease, p extract.Page) bool {
	u, err := BaseOf(lease.URL, p).Resolve(p.Refresh)
	return err == nil && u.Key() == lease.Key
}
