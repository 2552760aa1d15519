// Package policy decides about URLs: by settings, crawl space, rules, and the sites that have moved. It decides which
// URLs are crawled and which pages become documents, and explains its decisions. A Policy is immutable: a reload
// creates another, and a page keeps the one under which it began.
//
// The package starts no goroutine and has no lock.
package policy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Deletions enter the outbox as JSON (DeletionBody), and fingerprints are stored in
// hexadecimal form.

// StatusExcluded is the status of a stored URL that rules exclude (IBM crawl space, 760).
const StatusExcluded = crawlspace.StatusExcluded

// RobotsForbids is the reason why a URL is excluded that its robots.txt forbids.
const RobotsForbids = "robots.txt forbids it"

// Policy is the part of a crawl that a reload replaces: settings, rules and crawl space.
type Policy struct {
	Settings Settings
	Engine   *actionrules.Engine
	Space    *crawlspace.Space
	Moved    Moves
	roots    []actionrules.Root // roots in force, moved sites at their new place
	former   *formerSites       // former places of moved sites; nil if none moved
	Sources  []Source           // sorted by key
	Since    time.Time
	// Fingerprint identifies rules and crawl space, version also the reading of pages:
	// one that was read under another version is fetched without validators.
	Fingerprint string
	Version     uint64
	// Reading identifies the settings and readers that affect the text of a page.
	Reading   uint16
	Timing    string                    // identifies when stored URLs are fetched again
	scheduled []func(u weburl.URL) bool // URLs that schedules refresh: the sites of groups
	fragments bool                      // a rule names fragments: they are kept
	gone      []string                  // XML files that Sources no longer contain, sorted
	Removal   *extract.Removal          // nil: none
}

// New compiles rules and crawl space with the sites that moved at their new
// place.
func New(s Settings, moved Moves) (*Policy, error) {
	p, err := compiled(s, moved)
	if err != nil {
		return nil, err
	}
	rules := s.Rules
	rules.Roots = p.roots
	p.identify(rulesFingerprint(rules))
	return p, nil
}

// compiled returns a policy without its fingerprints, which explanations do not need.
func compiled(s Settings, moved Moves) (*Policy, error) {
	s.Rules.Roots = slices.Clone(s.Rules.Roots)
	s.Robots.Agent = s.RobotsAgent
	rewrite := s.Space.Rewriter()
	for i := range s.Rules.Roots {
		s.Rules.Roots[i].URL = rewrite(s.Rules.Roots[i].URL)
	}
	p := &Policy{Settings: s, Moved: moved, Since: time.Now().UTC(), Sources: sortedSources(s.Sources)}
	var urls []weburl.URL
	rules := s.Rules
	rules.Roots = movedRoots(s.Rules.Roots, moved)
	for _, root := range rules.Roots {
		urls = append(urls, root.URL)
	}
	var errs []error
	if p.Space, errs = crawlspace.Compile(s.Space, urls); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if p.Engine, errs = actionrules.Compile(rules); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(s.Remove) > 0 {
		var err error
		if p.Removal, err = extract.NewRemoval(s.Remove); err != nil {
			return nil, err
		}
	}
	p.roots = rules.Roots
	p.fragments = p.Engine.Names(actionrules.FieldFragment)
	var err error
	if p.former, err = newFormerSites(rules, s.Rules.Roots, moved); err != nil {
		return nil, err
	}
	p.gone = goneLists(&p.Settings)
	if err := p.refreshes(); err != nil {
		return nil, err
	}
	p.Timing = p.Settings.Frontier.Timing()
	return p, nil
}

// Same reports whether two policies judge stored URLs alike.
func (p *Policy) Same(q *Policy) bool { return p.Fingerprint == q.Fingerprint && p.Timing == q.Timing }

// WithRejectList returns the policy with another reject list.
func (p *Policy) WithRejectList(f *crawlspace.File) (*Policy, error) {
	space, errs := p.Space.WithRejectList(f)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	other := *p
	other.Space, other.Since = space, time.Now().UTC()
	other.Settings.Space.RejectList = f
	rules := p.Settings.Rules
	rules.Roots = p.roots
	other.identify(rulesFingerprint(rules))
	return &other, nil
}

// WithKilled returns the policy with URLs added to its kill list, if it has one. Settings.AddKilled adds them to the
// file.
func (p *Policy) WithKilled(urls []string) (*Policy, error) {
	s := p.Settings
	if s.Space.KillExact == nil || len(urls) == 0 {
		return p, nil
	}
	list := *s.Space.KillExact
	list.Content = slices.Concat(list.Content, list.Lacking(urls))
	s.Space.KillExact = &list
	return New(s, p.Moved)
}

// readerVersion changes when the same settings produce another text of a page.
const readerVersion = 1

// identify computes the policy's fingerprints.
func (p *Policy) identify(rules [32]byte) {
	sum := fingerprint(rules, p.Space.Fingerprint())
	if s := p.Settings.OnlySources; len(s) > 0 {
		w := writer{sha256.New()}
		w.strings(s...)
		sum = fingerprint(sum, string(w.Sum(nil)))
	}
	judges := sum
	if len(p.gone) > 0 { // their documents are judged by that, and pages are read as before
		w := writer{sha256.New()}
		w.strings(p.gone...)
		judges = fingerprint(sum, string(w.Sum(nil)))
	}
	p.Fingerprint = hex.EncodeToString(judges[:])
	sum = readingFingerprint(sum, p.Settings.ReadingKey)
	p.Version = max(binary.BigEndian.Uint64(sum[:8]), 1) // 0 is "not known"
	reading := readingFingerprint([32]byte{readerVersion}, p.Settings.ReadingKey)
	p.Reading = max(binary.BigEndian.Uint16(reading[:]), 1)
}

// Verdict is a policy's decision about a URL.
type Verdict struct {
	// URL is the URL to use from now on: the query filter may have changed it.
	URL      weburl.URL
	Decision actionrules.Decision
	// Status is 0 if the URL is in scope, otherwise StatusExcluded or crawlspace.StatusElsewhere. Gate is the gate that
	// refused it, empty for the action rules.
	Status int
	Gate   crawlspace.Reason
}

// Inside reports whether the URL is crawled.
func (v *Verdict) Inside() bool { return v.Status == 0 }

// Rename turns the verdict on a URL that is stored under another URL into an exclusion.
func (p *Policy) Rename(v *Verdict, u weburl.URL) {
	v.Status = StatusExcluded
	v.Gate = p.Space.Renamed(u)
}

// renamed reports whether a URL is outside because it is known under another name.
func renamed(v *Verdict) bool {
	return v.Gate.Gate == crawlspace.GateCanonical || v.Gate.Gate == crawlspace.GateQuery
}

// Spelled returns a URL with the part of its fragment that is stored: none unless a rule uses fragments. Links are
// judged in this form, so that the later judgements of the stored URL agree.
func (p *Policy) Spelled(u weburl.URL) weburl.URL {
	f := u.Fragment()
	switch {
	case f == "":
		return u
	case !p.fragments:
		return u.WithFragment("")
	}
	return u.WithFragment(f[:min(len(f), scheduler.FragmentMax)])
}

// Judge applies the gates and then the action rules to a link or a leased URL.
func (p *Policy) Judge(l crawlspace.Link) Verdict {
	l.URL = p.Spelled(l.URL)
	return p.decide(p.Space.Judge(l), p.Engine.Decide)
}

// Passes reports whether the gates accept a link, without the action rules.
func (p *Policy) Passes(l crawlspace.Link) bool {
	l.URL = p.Spelled(l.URL)
	return p.Space.Judge(l).Allowed
}

// JudgeStored is Judge without the gates for new URLs and without metas; it returns their MetasHash instead. It uses
// the caller's memory.
func (p *Policy) JudgeStored(l crawlspace.Link, s *actionrules.Scratch) (v Verdict, given uint32) {
	l.URL = p.Spelled(l.URL)
	v = p.decide(p.Space.JudgeStored(l), func(u weburl.URL) actionrules.Decision {
		d := p.Engine.DecideInto(u, s)
		given = MetasHash(d.Metas)
		d.Metas = nil
		return d
	})
	return v, given
}

func (p *Policy) decide(g crawlspace.Verdict, by func(weburl.URL) actionrules.Decision) Verdict {
	v := Verdict{URL: g.URL, Status: g.Status}
	if !g.Allowed {
		v.Gate = g.Reason
	}
	if g.Status == StatusExcluded {
		return v
	}
	v.Decision = by(g.URL)
	if !v.Decision.Crawl() {
		// Another crawler is not responsible for URLs that the rules exclude.
		v.Status, v.Gate = StatusExcluded, crawlspace.Reason{}
	}
	return v
}

// Detail returns the text that explains why a URL is outside.
func (p *Policy) Detail(v *Verdict) string {
	if twin := p.moved(v); twin != "" {
		return "its site moved: the page is now expected at " + twin
	}
	if v.Gate.Gate != "" {
		return v.Gate.String()
	}
	if i, _ := p.Engine.ExplainMatches(v.URL).ExcludedBy(); i >= 0 {
		return fmt.Sprintf("rule %d at %s", i+1, p.Settings.Rules.Rules[i].At)
	}
	return OutByDefault(v.Decision)
}

// OutByDefault returns the detail of a URL that no gate and no rule excludes.
func OutByDefault(d actionrules.Decision) string {
	if d.Accept {
		return "it is accepted, but no rule indexes or follows it"
	}
	return "no rule accepts it"
}

// Exclusion returns the reason why a URL is outside, in the frontier's form.
func (p *Policy) Exclusion(v *Verdict) *scheduler.Exclusion {
	return &scheduler.Exclusion{
		Status: v.Status, Reason: p.Reason(v), Words: p.Detail(v), Keep: v.Status == crawlspace.StatusElsewhere, MovedTo: p.NewURL(v),
	}
}

// Reason returns the reason why a URL is outside.
func (p *Policy) Reason(v *Verdict) scheduler.Reason {
	switch {
	case p.moved(v) != "":
		return scheduler.ReasonMoved
	case v.Status == crawlspace.StatusElsewhere:
		return scheduler.ReasonElsewhere
	case renamed(v):
		return scheduler.ReasonRenamed
	case v.Gate.Gate != "":
		return scheduler.ReasonCrawlSpace
	}
	return scheduler.ReasonRules
}

// Recorded returns a stored URL as the gates see it.
func Recorded(u weburl.URL, r *scheduler.Record) crawlspace.Link {
	return crawlspace.Link{URL: u.WithFragment(r.Fragment), Host: r.HostSpelling, Depth: int(r.Depth), Exempt: r.Kind.IsSource()}
}

// Link places a discovered URL in a fifo, or returns false if it is outside.
// Depth and Host of l are the link's.
func (p *Policy) Link(l crawlspace.Link) (scheduler.Link, Verdict, bool) {
	v := p.Judge(l)
	if !v.Inside() {
		return scheduler.Link{}, v, false
	}
	d := &v.Decision
	link := scheduler.Link{URL: v.URL, Fifo: FifoOf(*d), Shift: int8(d.Shift), Root: d.Root, Depth: depth(l.Depth), Fragment: v.URL.Fragment()}
	if host := v.URL.Host(); l.Host != host && strings.EqualFold(l.Host, host) {
		link.HostSpelling = l.Host
	}
	return link, v, true
}

// JudgesKnown reports whether links to known URLs must be judged, too: a shorter way to one may count, or one may be
// known under another name.
func (p *Policy) JudgesKnown() bool { return p.Settings.Space.MaxLinkDepth != nil || p.Space.Renames() }

// RedirectLink judges the target of a redirect from a URL with this shift, which the target keeps unless a rule sets
// another.
func (p *Policy) RedirectLink(l crawlspace.Link, shift int8) (scheduler.Link, Verdict, bool) {
	link, v, ok := p.Link(l)
	if ok && !v.Decision.ShiftSet {
		link.Shift = shift
	}
	return link, v, ok
}

// notIndexedByRule returns the reason why a crawled page has no document.
const notIndexedByRule = "not indexed, by rule"

// Indexes reports whether a URL that is inside becomes a document; otherwise why and words are the reason.
func (p *Policy) Indexes(v *Verdict) (ok bool, why scheduler.Reason, words string) {
	if !v.Decision.Index {
		return false, scheduler.ReasonNotIndexed, notIndexedByRule
	}
	if reason, killed := p.Space.Killed(v.URL); killed {
		return false, scheduler.ReasonKilled, reason.String()
	}
	if !p.Settings.Taken(v.Decision.Source) {
		return false, scheduler.ReasonNoTarget, p.Settings.untaken(v.Decision.Source)
	}
	return true, scheduler.NoReason, ""
}

// FifoOf returns the fifo that a decision assigns to a URL.
func FifoOf(d actionrules.Decision) scheduler.Source {
	return scheduler.SourceFor(d.Index, d.Follow, d.Shift, d.Root)
}

// depth returns the stored form of n.
func depth(n int) uint16 { return uint16(min(n, 1<<16-1)) }

// LimitsHosts reports whether the URLs of hosts must be counted.
func (p *Policy) LimitsHosts() bool {
	return p.Settings.Traps != nil && p.Settings.Traps.MaxURLsPerHost > 0
}

// FrontierSettings returns the policy's settings for the frontier.
func FrontierSettings(p *Policy) scheduler.Settings {
	s := p.Settings.Frontier
	s.DeletionBody = DeletionBody
	if _, most := p.Space.Depths(); most >= 0 {
		s.Levels = uint16(min(most, math.MaxUint16-1)) + 1
	}
	return s
}

// Stored compiles the settings with the moved sites that the store remembers.
func Stored(ctx context.Context, s Settings, store scheduler.ValueReader) (*Policy, error) {
	moved, err := StoredMoves(ctx, store)
	if err != nil {
		return nil, err
	}
	if s.KnownXMLFiles, err = StoredLists(ctx, store); err != nil {
		return nil, err
	}
	return New(s, moved)
}

// Outside returns 760 or 761 for a record that rules have excluded, else 0.
func Outside(r *scheduler.Record) int {
	if r.Class == scheduler.Ignored && (r.Status == StatusExcluded || r.Status == crawlspace.StatusElsewhere) {
		return r.Status
	}
	return 0
}

// DeletionBody returns the JSON of a deletion order.
func DeletionBody(url, reason string, at time.Time) []byte {
	b, err := json.Marshal(push.Deletion{URL: url, Reason: reason, At: at.UTC().Truncate(time.Second)})
	if err != nil {
		panic(err) // strings and a time of our own always marshal
	}
	return b
}
