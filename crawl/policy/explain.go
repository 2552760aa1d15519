package policy

import (
	"net/netip"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Explainer explains the decision of gates and rules about a URL. It is safe for concurrent use.
type Explainer struct {
	// Brief omits the rules that do not match.
	Brief bool

	policy *Policy
	traps  *crawlspace.Traps // nil: off
	learnt *copies.Patterns
}

// Explained is the decision about one URL as a newly discovered link, with its reasons.
type Explained struct {
	URL weburl.URL // after the query filter: the one that is crawled
	// Gates holds the result of each active gate, in order.
	Gates []crawlspace.GateAnswer
	// Refused is the gate that excludes the URL, or nil.
	Refused *crawlspace.Reason
	// Status is 760 or 761 if the URL is excluded, otherwise 0.
	Status int
	// Rules explains the action rules, which are applied to every URL here.
	Rules actionrules.Explanation
	// Killed is the entry of the kill list that keeps the page out of the index, or nil.
	Killed *crawlspace.Reason
	// Fetch holds the settings of its requests; zero for the default ones.
	Fetch Fetch
	// Fields are those that apply to the page.
	Fields []Field
	Fifo   scheduler.Source // set if the URL is crawled
}

// NewExplainer compiles settings. Moved may be nil, and the traps may be empty.
func NewExplainer(s Settings, moved Moves, counts TrapCounts) (*Explainer, error) {
	p, err := compiled(s, moved)
	learnt := copies.NewPatterns(counts.Learnt)
	if err != nil || s.Traps == nil {
		return &Explainer{policy: p, learnt: learnt}, err
	}
	traps := crawlspace.NewTraps(*s.Traps, nil)
	return &Explainer{policy: p, traps: traps, learnt: learnt}, traps.RestoreState(counts.Patterns)
}

// Found describes how a URL was found: the link that admitted it, for a stored page. The zero value is a new link on a
// start page.
type Found struct {
	// Known means that the URL is stored: gates for new links let it pass.
	Known        bool
	Depth        int
	HostSpelling string
	Fragment     string
	// HostURLs is the number of known URLs of its host.
	HostURLs int
}

// LimitsHosts reports whether Found.HostURLs counts.
func (e *Explainer) LimitsHosts() bool { return e.policy.LimitsHosts() }

// Explain explains the decision about u, written as raw. It uses the link by which u was found, except for what raw
// itself specifies.
func (e *Explainer) Explain(raw string, u weburl.URL, by Found) Explained {
	link := crawlspace.Link{URL: u, Host: crawlspace.SpelledHost(raw, u), Depth: by.Depth}
	if link.Host == "" {
		link.Host = by.HostSpelling
	}
	if u.Fragment() == "" {
		link.URL = u.WithFragment(by.Fragment)
	}
	link.URL = e.policy.Spelled(link.URL)
	v := e.policy.Judge(link)
	x := Explained{URL: v.URL, Gates: e.policy.Space.Trace(link), Status: v.Status}
	if e.Brief {
		x.Rules = e.policy.Engine.ExplainMatches(v.URL)
	} else {
		x.Rules = e.policy.Engine.Explain(v.URL)
	}
	if v.Gate.Gate != "" {
		gate := v.Gate
		x.Refused = &gate
	}
	if reason, killed := e.policy.Space.Killed(v.URL); killed {
		x.Killed = &reason
	}
	e.explainAddress(&x)
	e.explainTraps(&x, by)
	e.explainPatterns(&x, by.Known)
	if x.Status == 0 {
		x.Fifo, x.Fetch = FifoOf(v.Decision), e.policy.Settings.fetchOf(v.URL)
		x.Fields = e.policy.Settings.Inside.fieldsOf(v.URL)
	}
	return x
}

// explainPatterns adds the pattern of copies that excludes such new links.
func (e *Explainer) explainPatterns(x *Explained, known bool) {
	if !e.policy.Settings.DetectPatterns || !e.policy.Settings.NearDuplicates {
		return
	}
	p := e.learnt.Match(x.URL)
	if p == nil {
		return
	}
	a := crawlspace.GateAnswer{Reason: crawlspace.Reason{Gate: gatePattern, Rule: p.String()}, Allowed: p.Parameter != ""}
	if known {
		a.Allowed, a.NewLinks = true, "it would be cut off"
	}
	x.answered(a, e.policy.IsRoot(x.URL))
}

// Trap returns the trap that refuses a new link inside, or "".
func (e *Explainer) Trap(u weburl.URL, by Found) string {
	x := Explained{URL: u}
	e.explainTraps(&x, by)
	e.explainPatterns(&x, by.Known)
	if x.Refused == nil {
		return ""
	}
	return x.Refused.String()
}

// answered adds a gate's answer. A refusal excludes the URL unless it is a root.
func (x *Explained) answered(a crawlspace.GateAnswer, root bool) {
	x.Gates = append(x.Gates, a)
	if !a.Allowed && x.Status == 0 && !root {
		x.Refused, x.Status = &a.Reason, StatusExcluded
	}
}

// explainAddress adds the result of the address rules if the host is an IP address, and so known before the page is
// fetched.
func (e *Explainer) explainAddress(x *Explained) {
	addr, err := netip.ParseAddr(x.URL.Host())
	if err != nil {
		return
	}
	allowed, matched, reason := e.policy.Space.Addresses().Judge(addr)
	if !matched {
		return
	}
	x.answered(crawlspace.GateAnswer{Reason: reason, Allowed: allowed}, false)
}

// gatePattern is the name of the gate of patterns that lead to copies.
const gatePattern crawlspace.Gate = "pattern"

// explainTraps adds the traps' answers. Traps do not apply to roots.
func (e *Explainer) explainTraps(x *Explained, by Found) {
	if e.traps == nil || e.policy.IsRoot(x.URL) {
		return
	}
	for _, a := range e.traps.Explain(x.URL, by.Known, by.HostURLs) {
		x.answered(a, false)
	}
}
