package crawlspace

import (
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// The statuses of URLs outside of the crawl space (IBM, "Global Web crawl space
// configuration").
const (
	// StatusExcluded is that of a URL whose document is deleted from the index.
	StatusExcluded = 760
	// StatusElsewhere is that of a URL that another crawler has: it is not crawled,
	// and its document stays.
	StatusElsewhere = 761
)

// Link is a URL with the known properties of the link that led to it.
type Link struct {
	URL weburl.URL
	// Host is the host as the link spelled it, without port; see SpelledHost. Empty,
	// or a spelling that differs in more than the case of ASCII letters, means URL's own.
	Host string
	// Depth is how many links lead here from a start URL, the shortest way known.
	Depth int
	// Exempt frees sitemaps, feeds and XML documents that are configured, or named
	// by robots.txt, from the extension and the MIME gate.
	Exempt bool
}

// SpelledHost is the host of u as the link that became u spells it, where that
// differs from u's own in the case of letters; else it is empty, as for a relative link.
func SpelledHost(link string, u weburl.URL) string {
	slashes := strings.IndexAny(link, `/\`)
	if slashes < 0 || slashes+2 > len(link) || link[slashes+1] != '/' && link[slashes+1] != '\\' {
		return ""
	}
	if scheme := strings.TrimSpace(link[:slashes]); scheme != "" && !strings.EqualFold(scheme, u.Scheme()+":") {
		return ""
	}
	host := link[slashes+2:]
	if end := strings.IndexAny(host, `/\?#`); end >= 0 {
		host = host[:end]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	host, _, _ = strings.Cut(host, ":")
	host = strings.TrimSpace(host)
	if host == u.Host() || !strings.EqualFold(host, u.Host()) {
		return ""
	}
	return host
}

// Gate names a gate, as in explain.
type Gate string

// The gates, in the order in which they are asked. GateGlobal refuses nothing: it
// tells StatusElsewhere from StatusExcluded. GateAddress is asked for the address
// dialled, GateMIME for the answer.
const (
	GateCanonical      Gate = "canonical"
	GateQuery          Gate = "query-filter"
	GateStartURL       Gate = "start-url"
	GateMustContain    Gate = "must-contain"
	GateMustNotContain Gate = "must-not-contain"
	GateInclude        Gate = "include"
	GateExclude        Gate = "exclude"
	GateReject         Gate = "reject-list"
	GateExtension      Gate = "extension"
	GatePathDepth      Gate = "path-depth"
	GateLinkDepth      Gate = "link-depth"
	GateDomain         Gate = "domain"
	GatePrefix         Gate = "prefix"
	GateGlobal         Gate = "global"
	GateAddress        Gate = "address"
	GateMIME           Gate = "mime"
	GateKill           Gate = "kill"
	// Those of Traps, in their order, stand behind GatePrefix, for new links.
	GateRepetition Gate = "repetition"
	GateHostURLs   Gate = "host-urls"
	GateURLPattern Gate = "url-pattern"
)

// Reason is what a gate judged by, in the form of explain's excluded_by. Rule is
// the rule without its comment, blanks made single; it and the place are empty
// where no rule applied. Line counts from 1.
type Reason struct {
	Gate Gate   `json:"gate"`
	File string `json:"file"`
	Line int    `json:"line"`
	Rule string `json:"rule"`
}

// String is for logs and for the stored status: "domain gate, crawl.rules:3: forbid domain *".
func (r Reason) String() string {
	s := string(r.Gate) + " gate"
	if r.File != "" {
		s += ", " + r.File
		if r.Line > 0 {
			s += ":" + strconv.Itoa(r.Line)
		}
	}
	if r.Rule != "" {
		s += ": " + r.Rule
	}
	return s
}

// Verdict is what the gates say of a link.
type Verdict struct {
	// URL is the link's, after the query filter: the URL to go on with.
	URL     weburl.URL
	Allowed bool
	// Reason is that of the first gate that refused; zero if the link is allowed.
	Reason Reason
	// Status is 0 where the link is allowed, else StatusExcluded or
	// StatusElsewhere. The latter holds only where the action rules accept the URL
	// too: it is for URLs that are out by domain rules alone.
	Status int
}

// GateAnswer is one gate's answer about a link. Of GateGlobal, Allowed says that
// global.rules has the URL; it refuses nothing.
type GateAnswer struct {
	Reason
	Allowed bool `json:"allowed"`
	// NewLinks is set if the URL is known and the gate asked of new links only, which passes it. It says
	// what becomes of a new link like it, as in "full, 50 of 50".
	NewLinks string `json:"new_links,omitempty"`
}

// Answer is what the gate says of the link, for a person.
func (a GateAnswer) Answer() string {
	switch {
	case a.NewLinks != "":
		return "counts new links only: " + a.NewLinks
	case a.Allowed:
		return "passes"
	}
	return "refuses"
}

// rule is what rules of all types have.
type rule struct {
	allow  bool
	reason Reason
}

// judge is the answer of a gate whose first matching rule is r; nil lets the link pass.
func (r *rule) judge() (Reason, bool) {
	if r != nil && !r.allow {
		return r.reason, false
	}
	return Reason{}, true
}

// ruleAnswer is the answer of a gate whose first rule decides.
func ruleAnswer(g Gate, r *rule) GateAnswer {
	if r == nil {
		return GateAnswer{Reason: Reason{Gate: g}, Allowed: true}
	}
	return GateAnswer{Reason: r.reason, Allowed: r.allow}
}
