package crawlspace

import (
	"strconv"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// Canonical names the parts of URLs that are dropped, so that several spellings of a page are
// one URL.
type Canonical struct {
	weburl.Options
	At actionrules.Position
}

// names rewrites URLs, first by the options of the canonical form, then by the query filter.
type names struct {
	options weburl.Options
	reason  Reason // of the options
	query   *queryFilter
}

func newNames(s *Settings) names {
	n := names{query: newQueryFilter(s.QueryFilter)}
	if c := s.Canonical; c != nil {
		n.options = c.Options
		n.reason = reasonAt(GateCanonical, c.At, "dropWWW="+quoted(c.DropWWW)+" dropSessionIDs="+quoted(c.DropSessionIDs)+
			" dropTracking="+quoted(c.DropTracking)+" sortQuery="+quoted(c.SortQuery))
	}
	return n
}

func quoted(on bool) string { return strconv.Quote(strconv.FormatBool(on)) }

// Renames reports whether the settings rewrite any URL.
func (s *Space) Renames() bool { return s.names.options != (weburl.Options{}) || s.names.query != nil }

func (n *names) rewrite(u weburl.URL) weburl.URL { return n.query.rewrite(n.options.Apply(u)) }

// trace returns the answers of the gates that rewrite URLs; these never refuse one.
func (n *names) trace() []GateAnswer {
	var all []GateAnswer
	if n.options != (weburl.Options{}) {
		all = append(all, GateAnswer{Reason: n.reason, Allowed: true})
	}
	if n.query != nil {
		all = append(all, GateAnswer{Reason: n.query.reason, Allowed: true})
	}
	return all
}

// Rewriter returns the function that rewrites URLs in the settings' Space.
func (s *Settings) Rewriter() func(weburl.URL) weburl.URL {
	n := newNames(s)
	return n.rewrite
}

// Rewrite returns the URL under which u is stored.
func (s *Space) Rewrite(u weburl.URL) weburl.URL { return s.names.rewrite(u) }

// Renamed returns the reason for URLs that Rewrite changes.
func (s *Space) Renamed(u weburl.URL) Reason {
	r := Reason{Gate: GateQuery}
	if s.names.options.Apply(u) != u {
		r.Gate = GateCanonical
	}
	r.Rule = "the URL is " + s.Rewrite(u).String() + " now"
	return r
}
