package robots

import (
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Rules are a parsed robots.txt. They do not change, and are safe for concurrent use.
type Rules struct {
	text     string // of which the patterns are parts
	groups   []group
	agents   map[string][]int // groups of an agent in lower case, anyAgent for all
	sitemaps []string
}

const anyAgent = "*"

type group struct {
	rules []rule // in the order of their precedence
	delay time.Duration
}

// rule is a line of a group. Its precedence is the length of its pattern.
type rule struct {
	pattern   string // as written, in ASCII
	canonical string // as URLs are written here
	allows    bool
}

// Allowed says whether agent may fetch u. agent is a product token, letters, '-'
// and '_' (RFC 9309 section 2.2.1), in any case. The most specific rule decides,
// allow before disallow; robots.txt itself is always allowed.
func (r *Rules) Allowed(agent string, u weburl.URL) bool {
	target := u.PathAndQuery()
	return target == "/robots.txt" || r.allowed(agent, target, true)
}

// AllowedTarget is Allowed for a path and query that nobody brought into
// canonical form, compared octet by octet as Google's parser does.
func (r *Rules) AllowedTarget(agent, target string) bool { return r.allowed(agent, target, false) }

func (r *Rules) allowed(agent, target string, isCanonical bool) bool {
	longest, allows := 0, true
	for _, i := range r.groupsOf(agent) {
		for _, rule := range r.groups[i].rules {
			n := len(rule.pattern)
			if n < longest || n == longest && allows {
				break // nothing that follows can decide
			}
			if matches(rule.pattern, target) ||
				isCanonical && rule.canonical != rule.pattern && matches(rule.canonical, target) {
				longest, allows = n, rule.allows
				break
			}
		}
	}
	return allows
}

// groupsOf are the groups that name agent or, if none does, those for all.
func (r *Rules) groupsOf(agent string) []int {
	if agent != "" && agent != anyAgent {
		if groups, ok := r.agents[strings.ToLower(agent)]; ok {
			return groups
		}
	}
	return r.agents[anyAgent]
}

// CrawlDelay is the longest delay that agent's groups ask for, 0 if none, at most
// a day. It is no part of RFC 9309, but widely used.
func (r *Rules) CrawlDelay(agent string) time.Duration {
	var longest time.Duration
	for _, i := range r.groupsOf(agent) {
		longest = max(longest, r.groups[i].delay)
	}
	return longest
}

// Sitemaps are the values of the Sitemap lines, as written.
func (r *Rules) Sitemaps() []string { return slices.Clone(r.sitemaps) }

// size estimates the memory that the rules take, in bytes.
func (r *Rules) size() int {
	const perGroup, perAgent, perRule, perSitemap = 48, 96, 40, 16
	n := len(r.text) + perGroup*len(r.groups) + perAgent*len(r.agents) + perSitemap*len(r.sitemaps)
	for _, g := range r.groups {
		for _, rule := range g.rules {
			n += perRule + len(rule.pattern)
			if rule.canonical != rule.pattern {
				n += len(rule.canonical)
			}
		}
	}
	return n
}

// matches says whether pattern matches target from its beginning. A '*' stands
// for anything, a '$' at the end for the end (RFC 9309 section 2.2.3). Taking
// each piece where it comes first is right, as only '*' is between them, and
// needs time that grows with the lengths' sum, not with their product.
func matches(pattern, target string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	piece, rest, more := strings.Cut(pattern, "*")
	target, ok := strings.CutPrefix(target, piece)
	if !ok {
		return false
	}
	if !more {
		return !anchored || target == ""
	}
	for {
		piece, rest, more = strings.Cut(rest, "*")
		if !more && anchored {
			return strings.HasSuffix(target, piece)
		}
		i := strings.Index(target, piece)
		if i < 0 {
			return false
		}
		if !more {
			return true
		}
		target = target[i+len(piece):]
	}
}
