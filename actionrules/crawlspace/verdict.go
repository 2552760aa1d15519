package crawlspace

import (
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// The statuses of URLs outside the crawl space (IBM, "Global Web crawl space configuration").
const (
	// StatusExcluded is the status of a URL that is outside: its document is deleted from the index.
	StatusExcluded = 760
	// StatusElsewhere is the status of a URL that another crawler is responsible for: it is not crawled, and its document
	// stays.
	StatusElsewhere = 761
)

// Link is a URL with the known properties of the link that led to it.
type Link struct {
	URL weburl.URL
	// Host is the host as the link spelled it, without port; see SpelledHost. Empty,
	// or a spelling that differs in more than the case of ASCII letters, means URL's own.
	Host string
	// Depth is the number of links on the shortest known way from a start URL.
	Depth int
	// Exempt frees sitemaps, feeds and XML documents that are configured, or named
	// by robots.txt, from the extension and the MIME gate.
	Exempt bool
}

// SpelledHost returns the host of u as the link that became u spells it, if that differs from u's own only in case;
// otherwise it returns "", as for a relative link.
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

// Gate is the name of a gate, as printed by explain.
type Gate string

// The gates, in the order in which they apply. GateGlobal refuses nothing: it distinguishes StatusElsewhere from
// StatusExcluded. GateAddress applies to the dialled address, GateMIME to the response.
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
	// A Reason may also name the action rules, or the state before the first of them. Neither is a gate of a CrawlSpace.
	GateRules   Gate = "rules"
	GateDefault Gate = "default"
	// The traps, in order. They come after GatePrefix, for new links only.
	GateRepetition Gate = "repetition"
	GateHostURLs   Gate = "host-urls"
	GateURLPattern Gate = "url-pattern"
)

// Reason is the rule by which a gate judged, in the form of explain's excluded_by. Rule is its text without comments
// and with single blanks; it and the position are empty if no rule matched. Line counts from 1.
type Reason struct {
	Gate Gate   `json:"gate"`
	File string `json:"file"`
	Line int    `json:"line"`
	Rule string `json:"rule"`
}

// String returns the text for logs and for the stored status: "domain gate, crawl.rules:3: forbid domain *".
func (r Reason) String() string {
	s := string(r.Gate) + " gate"
	switch r.Gate { //nolint:exhaustive // the others are gates
	case GateDefault:
		return r.Rule
	case GateRules:
		return r.Rule + ", " + r.File + ":" + strconv.Itoa(r.Line)
	}
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

// Verdict is the gates' decision about a link.
type Verdict struct {
	// URL is the link's URL after the query filter, to be used from then on.
	URL     weburl.URL
	Allowed bool
	// Reason is the reason of the first gate that refused, zero if the link is allowed.
	Reason Reason
	// Status is 0 if the link is allowed, else StatusExcluded or StatusElsewhere. The latter applies only if the action
	// rules also accept the URL: it is for URLs that only the domain rules exclude.
	Status int
}

// GateAnswer is one gate's answer about a link. For GateGlobal, Allowed means that global.rules allows the URL; the
// gate refuses nothing.
type GateAnswer struct {
	Reason
	Allowed bool `json:"allowed"`
	// NewLinks is set if the URL is known and the gate, which applies to new links only, lets it pass. It describes the
	// result for a new link, as in "full, 50 of 50".
	NewLinks string `json:"new_links,omitempty"`
}

// Answer returns the gate's answer as text for people.
func (a GateAnswer) Answer() string {
	switch {
	case a.NewLinks != "":
		return "counts new links only: " + a.NewLinks
	case a.Allowed:
		return "passes"
	}
	return "refuses"
}

// rule has the fields common to rules of all types.
type rule struct {
	allow  bool
	reason Reason
}

// judge returns the answer of a gate whose first matching rule is r; if r is nil, the link passes.
func (r *rule) judge(g Gate) (Reason, bool) {
	if r == nil {
		return Reason{Gate: g}, true
	}
	return r.reason, r.allow
}
