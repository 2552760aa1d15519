package crawlspace

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// depthGate refuses URLs deeper than its maximum.
type depthGate struct {
	max    int
	of     func(Link) int
	reason Reason
}

// newDepthGate returns nil if there is no limit.
func newDepthGate(limit *Limit, g Gate, name string, of func(Link) int) *depthGate {
	if limit == nil {
		return nil
	}
	return &depthGate{limit.Max, of, reasonAt(g, limit.At, name+`="`+strconv.Itoa(limit.Max)+`"`)}
}

func (g *depthGate) judge(l Link) (Reason, bool) { return g.reason, g.of(l) <= g.max }

// pathDepth returns the number of slashes in the path after the first.
func pathDepth(l Link) int { return strings.Count(l.URL.Path(), "/") - 1 }

func linkDepth(l Link) int { return l.Depth }

// site is the part of a start URL that the URLs of its crawl share.
type site struct{ scheme, host string }

// compare orders sites for the fingerprint.
func (s site) compare(other site) int {
	return cmp.Or(strings.Compare(s.scheme, other.scheme), strings.Compare(s.host, other.host))
}

// startGate keeps the crawl on the sites of its start URLs (Smartsite, "Source").
type startGate struct {
	match  StartURLMatch
	sites  map[site]bool
	reason Reason
}

// newStartGate returns nil if no part has to match.
func newStartGate(m *StartURLMatch, roots []weburl.URL) *startGate {
	if m == nil || !m.Host && !m.Scheme {
		return nil
	}
	g := &startGate{match: *m, sites: map[site]bool{}}
	for _, u := range roots {
		g.sites[g.site(u)] = true
	}
	g.reason = reasonAt(GateStartURL, m.At, `host="`+strconv.FormatBool(m.Host)+`" scheme="`+strconv.FormatBool(m.Scheme)+`"`)
	return g
}

// site returns the part of u that has to match.
func (g *startGate) site(u weburl.URL) (s site) {
	if g.match.Scheme {
		s.scheme = u.Scheme()
	}
	if g.match.Host {
		s.host = u.Host()
	}
	return s
}

func (g *startGate) judge(l Link) (Reason, bool) { return g.reason, g.sites[g.site(l.URL)] }
