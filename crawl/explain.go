package crawl

import (
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Explainer says by which gates and rules a URL is decided about. It may be used
// by any number of goroutines at once.
type Explainer struct {
	policy *policy
	traps  *crawlspace.Traps // nil: off
	learnt *copies.Patterns
}

// Explained is all that decides about one URL as a newly discovered link.
type Explained struct {
	URL weburl.URL // after the query filter: the one that is crawled
	// Gates are the answers of all gates that are on, in order.
	Gates []crawlspace.GateAnswer
	// Refused is the gate that excludes the URL, nil if none does.
	Refused *crawlspace.Reason
	// Status is 760 or 761 where the URL is excluded, else 0.
	Status int
	// Rules explain the action rules, which are asked about every URL here.
	Rules actionrules.Explanation
	// Killed is the kill list's entry that keeps the page out of the index, nil if none does.
	Killed *crawlspace.Reason
	// Fetch is the name of the settings by which it is asked for; empty for those of all.
	Fetch string
	Fifo  scheduler.Source // where the URL is crawled
}

// Moves are the sites that moved, by their root's URL, as StoredMoves gives them. In JSON
// each is the page that the home page redirects to, or an object that has it as "to".
type Moves = moves

// StoredMoves are the sites that a store remembers to have moved.
func StoredMoves(ctx context.Context, store scheduler.Store) (Moves, error) {
	return storedMoves(ctx, store)
}

// NewExplainer compiles settings. Moved may be nil, and traps may have counted
// nothing.
func NewExplainer(s Settings, moved Moves, counts TrapCounts) (*Explainer, error) {
	p, err := newPolicy(s, moved)
	learnt := copies.NewPatterns(counts.Learnt)
	if err != nil || s.Traps == nil {
		return &Explainer{policy: p, learnt: learnt}, err
	}
	full := fullHosts{}
	for _, host := range counts.Full {
		full[host] = true
	}
	traps := crawlspace.NewTraps(*s.Traps, full)
	return &Explainer{p, traps, learnt}, traps.RestoreState(counts.Patterns)
}

// Explain decides about u, written as raw, as about a link on a start page.
func (e *Explainer) Explain(raw string, u weburl.URL) Explained {
	link := crawlspace.Link{URL: u, Host: crawlspace.SpelledHost(raw, u)}
	v := e.policy.judgeLink(link)
	x := Explained{URL: v.url, Gates: e.policy.space.Trace(link), Status: v.status, Rules: e.policy.engine.Explain(v.url)}
	if v.gate.Gate != "" {
		gate := v.gate
		x.Refused = &gate
	}
	if reason, killed := e.policy.space.Killed(v.url); killed {
		x.Killed = &reason
	}
	e.explainTraps(&x, v.inside())
	e.explainPatterns(&x)
	if x.Status == 0 {
		x.Fifo, x.Fetch = fifoOf(v.decision), e.policy.settings.fetchOf(v.url)
	}
	return x
}

// explainPatterns adds the pattern of copies that cuts new links like this off.
func (e *Explainer) explainPatterns(x *Explained) {
	if e.policy.settings.DetectPatterns && e.policy.settings.NearDuplicates {
		if p := e.learnt.Match(x.URL); p != nil {
			x.Gates = append(x.Gates, crawlspace.GateAnswer{Reason: crawlspace.Reason{Gate: gatePattern, Rule: p.String()}, Allowed: p.Parameter != ""})
			if x.Status == 0 && p.Parameter == "" && !e.isRoot(x.URL) {
				x.Refused, x.Status = &x.Gates[len(x.Gates)-1].Reason, StatusExcluded
			}
		}
	}
}

// gatePattern is the gate's name of patterns that lead to copies.
const gatePattern crawlspace.Gate = "pattern"

func (e *Explainer) isRoot(u weburl.URL) bool {
	return slices.ContainsFunc(e.policy.roots, func(r actionrules.Root) bool { return r.URL.Key() == u.Key() })
}

// explainTraps adds the traps' answers, of which a link that is no root and inside
// otherwise is refused by the first that does.
func (e *Explainer) explainTraps(x *Explained, inside bool) {
	if e.traps == nil || e.isRoot(x.URL) {
		return
	}
	for _, answer := range e.traps.Explain(x.URL) {
		x.Gates = append(x.Gates, answer)
		if inside && !answer.Allowed {
			inside = false
			x.Refused, x.Status = &answer.Reason, StatusExcluded
		}
	}
}
