package robots

import (
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Rules is a parsed robots.txt. It does not change, and is safe for concurrent use.
type Rules struct {
	text     string // the patterns are substrings
	groups   []group
	agents   map[string][]int         // groups by agent in lower case, anyAgent for all
	delays   map[string]time.Duration // by agent in lower case, anyAgent for all
	sitemaps []string
	original bool     // parsed by the 1994 standard
	order    []string // agents except anyAgent in order, if original
}

const anyAgent = "*"

type group struct {
	rules []rule // in the order of their precedence
}

// rule is a rule of a group.
type rule struct {
	pattern            // as written, in ASCII
	canonical *pattern // in the form of our URLs, nil if that is the same
	length    int      // as written: the longer rule has precedence
	allows    bool
}

func newRule(text string, allows bool) rule {
	r := rule{pattern: newPattern(text), length: len(text), allows: allows}
	if c := canonical(text); c != text {
		other := newPattern(c)
		r.canonical = &other
	}
	return r
}

// Allowed reports whether agent may fetch u. agent is a product token, letters, '-'
// and '_' (RFC 9309 section 2.2.1), in any case. The most specific rule decides,
// allow before disallow; robots.txt itself is always allowed.
func (r *Rules) Allowed(agent string, u weburl.URL) bool {
	target := u.PathAndQuery()
	return target == "/robots.txt" || r.allowed(agent, target, true)
}

// AllowedTarget is Allowed for a path and query in their original form, compared octet by octet as Google's parser
// does.
func (r *Rules) AllowedTarget(agent, target string) bool { return r.allowed(agent, target, false) }

func (r *Rules) allowed(agent, target string, isCanonical bool) bool {
	longest, allows := 0, true
	for _, i := range r.groupsOf(agent) {
		for j := range r.groups[i].rules {
			rule := &r.groups[i].rules[j]
			if rule.length < longest || rule.length == longest && allows {
				break // no later rule can decide
			}
			if rule.matches(target) || isCanonical && rule.canonical != nil && rule.canonical.matches(target) {
				longest, allows = rule.length, rule.allows
				break
			}
		}
	}
	return allows
}

// groupsOf returns the groups that name agent or, if none does, those for all.
func (r *Rules) groupsOf(agent string) []int {
	if agent != "" && agent != anyAgent {
		if r.original {
			return r.agents[r.firstRecord(agent)]
		}
		var buf [64]byte
		lower := appendLower(buf[:0], agent)
		if groups, ok := r.agents[string(lower)]; ok {
			return groups
		}
	}
	return r.agents[anyAgent]
}

// appendLower is strings.ToLower for ASCII, without an allocation.
func appendLower(out []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		out = append(out, c)
	}
	return out
}

// CrawlDelay returns the longest delay that the file sets for agent, 0 if none, at most a day. It is not part of RFC
// 9309, but widely used: a delay applies to the agents named just above it, even if later lines join these and others
// into one group.
func (r *Rules) CrawlDelay(agent string) time.Duration {
	name := anyAgent
	if agent != "" && agent != anyAgent {
		lower := strings.ToLower(agent)
		if _, named := r.agents[lower]; r.original {
			name = r.firstRecord(agent)
		} else if named {
			name = lower
		}
	}
	return r.delays[name]
}

// delayed records a delay for agents.
func (r *Rules) delayed(agents []string, d time.Duration) {
	if d == 0 {
		return
	}
	if r.delays == nil {
		r.delays = map[string]time.Duration{}
	}
	for _, name := range agents {
		r.delays[name] = max(r.delays[name], d)
	}
}

// Sitemaps returns the values of the Sitemap lines, as written.
func (r *Rules) Sitemaps() []string { return slices.Clone(r.sitemaps) }

// stricter reports whether r may forbid agent what old allowed: whether it has an additional Disallow or lacks an
// Allow. It does not check whether a longer rule overrides that.
func (r *Rules) stricter(agent string, old *Rules) bool {
	before := old.patternsOf(agent)
	after := r.patternsOf(agent)
	for p := range after {
		if _, had := before[p]; !had && !p.allows {
			return true
		}
	}
	for p := range before {
		if _, has := after[p]; !has && p.allows {
			return true
		}
	}
	return false
}

// line is the content of a rule.
type line struct {
	pattern
	allows bool
}

func (r *Rules) patternsOf(agent string) map[line]struct{} {
	all := map[line]struct{}{}
	for _, i := range r.groupsOf(agent) {
		for _, rule := range r.groups[i].rules {
			all[line{rule.pattern, rule.allows}] = struct{}{}
		}
	}
	return all
}

// size estimates the memory that the rules take, in bytes.
func (r *Rules) size() int {
	const perGroup, perAgent, perDelay, perRule, perCanonical, perSitemap = 40, 112, 48, 64, 48, 16
	n := len(r.text) + perGroup*len(r.groups) + perAgent*len(r.agents) + perDelay*len(r.delays) + perSitemap*len(r.sitemaps)
	for _, g := range r.groups {
		for _, rule := range g.rules {
			n += perRule + rule.length
			if rule.canonical != nil {
				n += perCanonical + rule.canonical.length()
			}
		}
	}
	return n
}
