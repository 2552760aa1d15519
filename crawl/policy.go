package crawl

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// StatusExcluded is the status of a stored URL that rules exclude (IBM crawl space, 760).
const StatusExcluded = crawlspace.StatusExcluded

// explained is up to how many rules the one that excludes a URL is looked for.
const explained = 1000

// policy is all that a reload replaces: settings, rules and crawl space. It is
// immutable, and a page keeps the one that it began with.
type policy struct {
	settings Settings
	engine   *actionrules.Engine
	space    *crawlspace.Space
	moved    moves
	roots    []actionrules.Root // in force: moved sites at their new place
	left     *left              // where sites were before they moved; nil: none did
	sources  []Source           // sorted by key
	since    time.Time
	// fingerprint identifies rules and crawl space, version what is made of a page, too:
	// one that was read under another version is fetched without validators.
	fingerprint string
	version     uint64
	timing      string                // identifies when stored URLs are fetched again
	scheduled   []*actionrules.Engine // accept the sites of groups that schedules refresh
	removed     *extract.Removal      // nil: none
}

// newPolicy compiles rules and crawl space with the sites that moved at their new
// place.
func newPolicy(s Settings, moved moves) (*policy, error) {
	s.Rules.Roots = slices.Clone(s.Rules.Roots)
	s.Robots.Agent = s.RobotsAgent
	rewrite := s.Space.Rewriter()
	for i := range s.Rules.Roots {
		s.Rules.Roots[i].URL = rewrite(s.Rules.Roots[i].URL)
	}
	p := &policy{settings: s, moved: moved, since: time.Now().UTC(), sources: sortedSources(s.Sources)}
	var urls []weburl.URL
	rules := s.Rules
	rules.Roots = movedRoots(s.Rules.Roots, moved)
	for _, root := range rules.Roots {
		urls = append(urls, root.URL)
	}
	var errs []error
	if p.space, errs = crawlspace.Compile(s.Space, urls); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if p.engine, errs = actionrules.Compile(rules); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(s.Remove) > 0 {
		var err error
		if p.removed, err = extract.NewRemoval(s.Remove); err != nil {
			return nil, err
		}
	}
	p.roots = rules.Roots
	var err error
	if p.left, err = newLeft(rules, s.Rules.Roots, moved); err != nil {
		return nil, err
	}
	p.identify(rulesFingerprint(rules))
	p.timing = s.Frontier.Timing()
	for _, r := range s.Refreshes {
		if group, err := p.groupSites(r.Group); err == nil {
			p.scheduled = append(p.scheduled, group)
		}
	}
	return p, nil
}

// same says that two policies judge stored URLs alike.
func (p *policy) same(q *policy) bool { return p.fingerprint == q.fingerprint && p.timing == q.timing }

// refreshes says that something is fetched again by itself: by its age, or by a schedule.
func (p *policy) refreshes() bool {
	return p.settings.Frontier.Refreshes() || len(p.settings.Refreshes) > 0
}

// refreshed says that a page is fetched again by itself.
func (p *policy) refreshed(u weburl.URL) bool {
	switch {
	case p.settings.Frontier.Refreshes(), slices.ContainsFunc(p.settings.Refreshes, func(r Refresh) bool { return r.Group == "" }):
		return true
	}
	return slices.ContainsFunc(p.scheduled, func(group *actionrules.Engine) bool { return group.Decide(u).Accept })
}

// withRejectList is the policy with another reject list.
func (p *policy) withRejectList(f *crawlspace.File) (*policy, error) {
	space, errs := p.space.WithRejectList(f)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	other := *p
	other.space, other.since = space, time.Now().UTC()
	other.settings.Space.RejectList = f
	rules := p.settings.Rules
	rules.Roots = p.roots
	other.identify(rulesFingerprint(rules))
	return &other, nil
}

// identify gives the policy its fingerprint.
func (p *policy) identify(rules [32]byte) {
	sum := fingerprint(rules, p.space.Fingerprint())
	p.fingerprint = hex.EncodeToString(sum[:])
	sum = readingFingerprint(sum, &p.settings)
	p.version = max(binary.BigEndian.Uint64(sum[:8]), 1) // 0 is "not known"
}

// verdict is what the rules in force say of a URL.
type verdict struct {
	// url is the one to go on with, which may have another name.
	url      weburl.URL
	decision actionrules.Decision
	// status is 0 where the URL is inside, else StatusExcluded or
	// crawlspace.StatusElsewhere. gate refused it, or, if empty, the action rules.
	status int
	gate   crawlspace.Reason
}

func (v *verdict) inside() bool { return v.status == 0 }

// rename makes a URL that is known under another name one that is outside.
func (p *policy) rename(v *verdict, u weburl.URL) {
	v.status = StatusExcluded
	v.gate = p.space.Renamed(u)
}

// judgeLink asks the gates and then the action rules about a link, or about a URL
// that was taken.
func (p *policy) judgeLink(l crawlspace.Link) verdict {
	return p.decide(p.space.Judge(l), p.engine.Decide)
}

// judgeStored is judgeLink without the gates that count only when a URL is taken,
// and without metas. It works in the caller's memory.
func (p *policy) judgeStored(l crawlspace.Link, s *actionrules.Scratch) verdict {
	return p.decide(p.space.JudgeStored(l), func(u weburl.URL) actionrules.Decision {
		d := p.engine.DecideInto(u, s)
		d.Metas = nil
		return d
	})
}

func (p *policy) decide(g crawlspace.Verdict, by func(weburl.URL) actionrules.Decision) verdict {
	v := verdict{url: g.URL, status: g.Status}
	if !g.Allowed {
		v.gate = g.Reason
	}
	if g.Status == StatusExcluded {
		return v
	}
	v.decision = by(g.URL)
	if !v.decision.Crawl() {
		// Another crawler does not have what the rules exclude anyway.
		v.status, v.gate = StatusExcluded, crawlspace.Reason{}
	}
	return v
}

// words say why a URL is outside.
func (p *policy) words(v *verdict) string {
	if twin := p.twin(v); twin != "" {
		return "its site moved: the page is looked for at " + twin
	}
	if v.gate.Gate != "" {
		return v.gate.String()
	}
	if len(p.settings.Rules.Rules) > explained {
		return "the rules ignore it; explain names the one that does"
	}
	x := p.engine.Explain(v.url)
	if i, _ := x.ExcludedBy(); i >= 0 {
		return fmt.Sprintf("rule %d at %s", i, x.Rules[i].At)
	}
	return "no rule accepts it"
}

// exclusion is the frontier's word for a URL that is outside.
func (p *policy) exclusion(v *verdict) *scheduler.Exclusion {
	return &scheduler.Exclusion{
		Status: v.status, Reason: p.because(v), Words: p.words(v), Keep: v.status == crawlspace.StatusElsewhere, MovedTo: p.twin(v),
	}
}

// because is why a URL is outside.
func (p *policy) because(v *verdict) scheduler.Reason {
	switch {
	case p.twin(v) != "":
		return scheduler.ReasonMoved
	case v.status == crawlspace.StatusElsewhere:
		return scheduler.ReasonElsewhere
	case v.gate.Gate == crawlspace.GateCanonical:
		return scheduler.ReasonRenamed
	case v.gate.Gate != "":
		return scheduler.ReasonCrawlSpace
	}
	return scheduler.ReasonRules
}

// recorded is a stored URL as the gates see it.
func recorded(u weburl.URL, r *scheduler.Record) crawlspace.Link {
	return crawlspace.Link{URL: u, Host: r.HostSpelling, Depth: int(r.Depth), Exempt: r.Kind.IsSource()}
}

// link places a discovered URL in a fifo, or returns false if it is outside.
// Depth and Host of l are the link's.
func (p *policy) link(l crawlspace.Link) (scheduler.Link, verdict, bool) {
	v := p.judgeLink(l)
	if !v.inside() {
		return scheduler.Link{}, v, false
	}
	d := &v.decision
	link := scheduler.Link{URL: v.url, Fifo: fifoOf(*d), Shift: int8(d.Shift), Root: d.Root, Depth: depth(l.Depth)}
	if host := v.url.Host(); l.Host != host && strings.EqualFold(l.Host, host) {
		link.HostSpelling = l.Host
	}
	return link, v, true
}

// redirectLink judges the target of a redirect from a URL with this shift, which
// it keeps unless a rule gives it its own.
func (p *policy) redirectLink(l crawlspace.Link, shift int8) (scheduler.Link, verdict, bool) {
	link, v, ok := p.link(l)
	if ok && !v.decision.ShiftSet {
		link.Shift = shift
	}
	return link, v, ok
}

// notIndexedByRule is why a page has no document that the rules crawl all the same.
const notIndexedByRule = "not indexed by rule"

// indexes says whether a URL that is inside becomes a document; if not, why and words say
// why.
func (p *policy) indexes(v *verdict) (ok bool, why scheduler.Reason, words string) {
	if !v.decision.Index {
		return false, scheduler.ReasonNotIndexed, notIndexedByRule
	}
	if reason, killed := p.space.Killed(v.url); killed {
		return false, scheduler.ReasonKilled, reason.String()
	}
	return true, scheduler.NoReason, ""
}

// fifoOf is the source that a decision puts a URL into.
func fifoOf(d actionrules.Decision) scheduler.Source {
	return scheduler.SourceFor(d.Index, d.Follow, d.Shift, d.Root)
}

// depth is n as it is stored.
func depth(n int) uint16 { return uint16(min(n, 1<<16-1)) }

// limitsHosts says that the URLs of hosts must be counted.
func (p *policy) limitsHosts() bool {
	return p.settings.Traps != nil && p.settings.Traps.MaxURLsPerHost > 0
}

// stays says why the site of a home page that redirects stays where it is, "" if it is none's.
func (p *policy) stays(home weburl.URL, firm bool) string {
	root, ok := p.rootOf(home)
	if !ok {
		return ""
	}
	m := p.moved[root.String()]
	if s, seen := m.Seen[home.String()]; seen {
		return "wait: its site moves there if it is still so after " + s.Since.Add(moveAfter).Format(time.RFC3339)
	}
	if !firm {
		return "wait: a temporary redirect moves no site of which documents are stored"
	}
	return ""
}

// frontierSettings are those of the policy in the frontier's terms.
func frontierSettings(p *policy) scheduler.Settings {
	s := p.settings.Frontier
	s.DeletionBody = deletionBody
	s.Depths = p.space.LimitsLinkDepth()
	return s
}
