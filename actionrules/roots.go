package actionrules

import (
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// rootTable finds the roots that a URL is, or lies in the site of. The cost does
// not depend on the number of roots: one look-up for each length that a prefix
// of the URL's origin has.
type rootTable struct {
	self    map[string][]int // by canonical URL
	sites   map[string][]int // by the string that the site's URLs begin with
	lengths map[string][]int // by origin, the lengths of its strings in sites
}

func newRootTable(roots []Root) rootTable {
	t := rootTable{map[string][]int{}, map[string][]int{}, map[string][]int{}}
	for i, r := range roots {
		t.self[r.URL.String()] = append(t.self[r.URL.String()], i)
		if !r.Site {
			continue
		}
		for _, p := range sitePrefixes(r.URL) {
			t.sites[p] = append(t.sites[p], i)
			origin := p[:len(p)-len(r.URL.PathAndQuery())]
			if !slices.Contains(t.lengths[origin], len(p)) {
				t.lengths[origin] = append(t.lengths[origin], len(p))
			}
		}
	}
	return t
}

// sitePrefixes are the strings that the URLs of a root's site begin with: the
// root itself, for a bare host also the host with www before it.
func sitePrefixes(u weburl.URL) []string {
	s, host := u.String(), u.Host()
	if u.PathAndQuery() != "/" || len(host) >= 4 && host[:4] == "www." {
		return []string{s}
	}
	scheme := u.Scheme() + "://"
	return []string{s, scheme + "www." + s[len(scheme):]}
}

// sitesOf appends to into the indexes of the roots whose site u lies in, in
// their order.
func (t *rootTable) sitesOf(u weburl.URL, into []int) []int {
	s := u.String()
	if len(t.lengths) == 0 || u.IsZero() {
		return into
	}
	for _, n := range t.lengths[u.Origin()] {
		if n <= len(s) {
			into = append(into, t.sites[s[:n]]...)
		}
	}
	slices.Sort(into)
	return into
}
