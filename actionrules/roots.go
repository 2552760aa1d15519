package actionrules

import (
	"slices"

	"github.com/sextant-crawler/sextant/actionrules/match"
	"github.com/sextant-crawler/sextant/weburl"
)

// rootTable finds the roots that equal a URL, or whose site contains it. The cost does not depend on the number of
// roots.
type rootTable struct {
	self     map[string][]int32 // by canonical URL
	prefixes *match.Index       // the strings that the URLs of sites begin with
	sites    [][]int32          // by number of the prefix
}

func newRootTable(roots []Root) rootTable {
	t := rootTable{self: map[string][]int32{}}
	var b match.Builder
	for i, r := range roots {
		t.self[r.URL.String()] = append(t.self[r.URL.String()], int32(i))
		if !r.Site {
			continue
		}
		for _, p := range sitePrefixes(r.URL) {
			n := b.Add(match.Prefix, p)
			if int(n) == len(t.sites) {
				t.sites = append(t.sites, nil)
			}
			t.sites[n] = append(t.sites[n], int32(i))
		}
	}
	t.prefixes = b.Build()
	return t
}

// sitePrefixes returns the strings that the URLs of a root's site begin with: the
// root itself, for a bare host also the host with www before it.
func sitePrefixes(u weburl.URL) []string {
	s, host := u.String(), u.Host()
	if u.PathAndQuery() != "/" || len(host) >= 4 && host[:4] == "www." {
		return []string{s}
	}
	scheme := u.Scheme() + "://"
	return []string{s, scheme + "www." + s[len(scheme):]}
}

// sitesOf appends to into the indexes of the roots whose site contains u, in order.
func (t *rootTable) sitesOf(u weburl.URL, into []int32) []int32 {
	var buf [8]uint32
	for _, n := range t.prefixes.Append(buf[:0], u.String()) {
		into = append(into, t.sites[n]...)
	}
	slices.Sort(into)
	return into
}
