package crawl

import (
	"context"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A root without a site has no bounds in which its pages lie. They are those that were found from
// it: from each page one goes to the page on which it was first found, up to a root.

const (
	// lineageKept is the number of cached verdicts: all URLs found on one page share one.
	lineageKept = 100_000
	// lineageLongest bounds the way to a root: pages that were forgotten and found again may name
	// each other.
	lineageLongest = 10_000
	// robotsPath is the referrer of sitemaps found in a robots.txt.
	robotsPath = "/robots.txt"
)

// lineage determines which stored URLs were found from some roots. It is not safe for concurrent use.
type lineage struct {
	store   scheduler.Reader
	roots   map[weburl.Key]bool // all roots of the configuration; true for the selected ones
	origins map[string]bool     // those whose sitemaps are named by robots.txt
	known   map[weburl.Key]bool // of URLs that others were found on, whether they count
}

// newLineage returns the lineage of a group's roots that have no site, or nil if the group has no such root.
func newLineage(p *policy.Policy, store scheduler.Reader, group string) *lineage {
	roots := p.SitelessRoots(group)
	if roots == nil {
		return nil
	}
	l := &lineage{store: store, roots: roots, origins: map[string]bool{}, known: map[weburl.Key]bool{}}
	for _, link := range p.RootLinks(nil) {
		if roots[link.URL.Key()] {
			l.origins[link.URL.Origin()] = true
		}
	}
	return l
}

// includes reports whether a stored URL was found from one of the roots, and from no other root on the way.
func (l *lineage) includes(ctx context.Context, k weburl.Key, r *scheduler.Record) (bool, error) {
	var way []weburl.Key
	found := false
	for len(way) < lineageLongest {
		counts, isRoot := l.roots[k]
		if known, ok := l.known[k]; ok && !isRoot {
			counts, isRoot = known, true
		}
		if isRoot {
			found = counts
			break
		}
		way = append(way, k)
		from, ok := weburl.FromCanonical(r.Referrer)
		if !ok {
			break
		}
		if k = from.Key(); from.PathAndQuery() == robotsPath {
			found = l.origins[from.Origin()]
			break
		}
		var err error
		if r, err = scheduler.Find(ctx, l.store, k); err != nil {
			return false, err
		}
		if r == nil { // forgotten
			break
		}
	}
	if len(l.known)+len(way) > lineageKept {
		clear(l.known)
	}
	for _, k := range way[min(1, len(way)):] { // others were found on these
		l.known[k] = found
	}
	return found, nil
}
