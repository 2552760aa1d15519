package admin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Explanation is the JSON form of one URL; its names are a contract.
type Explanation struct {
	URL        string                  `json:"url"`
	Canonical  string                  `json:"canonical"`
	Decision   string                  `json:"decision"` // crawl or ignore
	Accept     bool                    `json:"accept"`
	Index      bool                    `json:"index"`
	Follow     bool                    `json:"follow"`
	Fifo       *string                 `json:"fifo"`
	FifoNumber *int                    `json:"fifo_number"`
	Shift      int                     `json:"shift"`
	Source     string                  `json:"source"`
	Metas      map[string][]string     `json:"metas"`
	ExcludedBy *crawlspace.Reason      `json:"excluded_by"`
	Status     *int                    `json:"status"`
	Rules      []RuleExplanation       `json:"rules"`
	Gates      []crawlspace.GateAnswer `json:"gates,omitempty"`
	Fetch      string                  `json:"fetch,omitempty"` // the Fetch element that applies
	// Render is auto or browser if a browser renders such pages; LogIn names their log-in.
	Render   string             `json:"render,omitempty"`
	LogIn    string             `json:"log_in,omitempty"`
	KilledBy *crawlspace.Reason `json:"killed_by,omitempty"` // the kill list's entry that keeps it out of the index
	// Untaken is set if it would be indexed if a target took its push source.
	Untaken bool               `json:"untaken,omitempty"`
	Stored  *StoredExplanation `json:"stored,omitempty"`

	// Start is the state before the rules, Others the number of rules that do not match; both are for people.
	Start  string `json:"-"`
	Others int    `json:"-"`
	// Crawler names the Crawler, in a configuration that has several.
	Crawler string `json:"crawler,omitempty"`
}

// RuleExplanation is one rule, and what it did.
type RuleExplanation struct {
	Index   int      `json:"index"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line"`
	Group   string   `json:"group"`
	Matched bool     `json:"matched"`
	Changed []string `json:"changed"`
	// Actions are those of a matching rule, for people.
	Actions []string `json:"-"`
}

// Number returns the rule's number, from 1.
func (r RuleExplanation) Number() int { return r.Index + 1 }

// StoredExplanation is the stored state of the URL.
type StoredExplanation struct {
	Known bool `json:"known"`
	*report.StoredURL
	Robots string `json:"robots"` // by its stored robots.txt: allowed, forbidden or unknown
	// Why describes whether it is in the index, and the reason. Help is what can be done.
	Why  string `json:"why"`
	Help string `json:"help,omitempty"`
	// DeletionOrder is the pending deletion of its document, or of its text.
	DeletionOrder *Deletion `json:"deletion_order,omitempty"`
	// RedirectEndURL is where its redirects end, and RedirectEnd what is stored of that, nil if it is not known.
	// LeadsOut is what excludes the end; nil if it is crawled, or if the URL does not redirect.
	RedirectEndURL string             `json:"redirect_end_url,omitempty"`
	RedirectEnd    *report.StoredURL  `json:"redirect_end,omitempty"`
	LeadsOut       *crawlspace.Reason `json:"redirect_excluded_by,omitempty"`
	// Refused is the newest order about it if a target refused that.
	Refused *push.Listed `json:"refused,omitempty"`
	// LinkFragment is that of the link which gates and rules were asked about, if it is not the one that
	// admitted the page.
	LinkFragment string `json:"link_fragment,omitempty"`
}

// Unreadable is the JSON form of a text that is not a URL.
type Unreadable struct {
	URL   string `json:"url"`
	Error string `json:"error"`
}

// Knowledge adds stored data to explanations; the zero value adds nothing.
type Knowledge struct {
	Moved policy.Moves      // the sites that moved
	Traps policy.TrapCounts // the counts of traps
	// HostURLs returns how many URLs of an origin are known. Lookup returns the stored state of a URL, or ErrNotKnown.
	// Deletion returns the pending deletion of its document, or nil. Refused returns the newest order about a URL that
	// a target refused, or nil. Robots returns the state of an agent by the stored robots.txt. All are nil without a
	// store.
	HostURLs func(weburl.URL) (int, error)
	Lookup   func(weburl.URL) (report.StoredURL, error)
	Deletion func(report.StoredURL) (*Deletion, error)
	Refused  func(url string) (*push.Listed, error)
	Robots   func(agent string, original bool, u weburl.URL) (string, error)
}

// KnowledgeOf returns that of a Crawler; its losses are read when a deletion is pending.
func KnowledgeOf(ctx context.Context, c Explained) (k Knowledge, err error) {
	store := c.Reports()
	if k.Moved, err = policy.StoredMoves(ctx, store); err != nil {
		return k, err
	}
	if k.Traps, err = c.Traps(ctx); err != nil {
		return k, err
	}
	k.HostURLs = func(u weburl.URL) (int, error) { return c.HostURLs(ctx, u) }
	k.Lookup = func(u weburl.URL) (report.StoredURL, error) {
		s, ok, err := report.LookUp(ctx, store, u)
		if err == nil && !ok {
			err = ErrNotKnown
		}
		return s, err
	}
	k.Deletion = func(s report.StoredURL) (*Deletion, error) { return deletionOf(ctx, store, c.Losses, &s) }
	k.Refused = deadLetters(func(fn func(push.Listed) error) error {
		return store.Orders(ctx, push.Selection{State: push.DeadLetter}, fn)
	})
	k.Robots = func(agent string, original bool, u weburl.URL) (string, error) {
		return report.Robots(ctx, store, agent, original, u)
	}
	return k, nil
}

// Knowledge returns that of the running service.
func (c *Client) Knowledge(ctx context.Context) (k Knowledge, err error) {
	if err := errors.Join(c.Get(ctx, "/moves", nil, &k.Moved), c.Get(ctx, "/traps", nil, &k.Traps)); err != nil {
		return k, err
	}
	k.HostURLs = func(u weburl.URL) (n int, err error) {
		var counts TrapCounts
		err = c.Get(ctx, "/traps", url.Values{"host": {u.Origin()}}, &counts)
		return counts.HostURLs, err
	}
	k.Lookup = func(u weburl.URL) (s report.StoredURL, err error) {
		err = c.Get(ctx, "/url", url.Values{"url": {u.String()}}, &s)
		return s, err
	}
	k.Deletion = func(s report.StoredURL) (*Deletion, error) { return c.deletionOf(ctx, &s) }
	k.Refused = deadLetters(func(fn func(push.Listed) error) error {
		return Each(ctx, c, "/outbox", url.Values{"state": {string(push.DeadLetter)}}, fn)
	})
	k.Robots = func(agent string, original bool, u weburl.URL) (said string, err error) {
		ask := url.Values{"url": {u.String()}, "agent": {agent}, "original": {strconv.FormatBool(original)}}
		err = c.Get(ctx, "/robots", ask, &said)
		return said, err
	}
	return k, nil
}

// deadLetters finds dead letters by their URLs. They are listed once, when the first is asked for.
func deadLetters(list func(func(push.Listed) error) error) func(string) (*push.Listed, error) {
	all := sync.OnceValues(func() (map[string]*push.Listed, error) {
		dead := map[string]*push.Listed{}
		return dead, list(func(o push.Listed) error {
			if known := dead[o.URL]; known == nil || known.Seq < o.Seq {
				dead[o.URL] = &o
			}
			return nil
		})
	})
	return func(url string) (*push.Listed, error) {
		dead, err := all()
		return dead[url], err
	}
}

// stored looks a URL up, and returns the name under which it was found: its canonical one, else its own, under which it
// may have been stored when its canonical name was different.
func (k *Knowledge) stored(canonical string, u weburl.URL) (*StoredExplanation, weburl.URL, error) {
	as, ok := weburl.FromCanonical(canonical)
	if !ok {
		as = u
	}
	s, err := k.Lookup(as)
	if errors.Is(err, ErrNotKnown) && as.Key() != u.Key() {
		if old, again := k.Lookup(u); again == nil {
			s, err, as = old, nil, u
		}
	}
	if errors.Is(err, ErrNotKnown) {
		return &StoredExplanation{}, as, nil
	}
	if err != nil {
		return nil, as, err
	}
	out := &StoredExplanation{Known: true, StoredURL: &s}
	if s.Fate == scheduler.FatePendingLoss.String() {
		if out.DeletionOrder, err = k.Deletion(s); err != nil {
			return nil, as, err
		}
	}
	out.Refused, err = k.Refused(s.URL)
	return out, as, err
}

// Explainer explains decisions by the gates and rules of one Crawler.
type Explainer struct {
	rules    *policy.Explainer
	settings policy.Settings
	known    Knowledge
	hostURLs map[weburl.HostKey]int // as far as requested
}

// NewExplainer compiles settings.
func NewExplainer(s policy.Settings, known Knowledge) (*Explainer, error) {
	rules, err := policy.NewExplainer(s, known.Moved, known.Traps)
	return &Explainer{rules, s, known, map[weburl.HostKey]int{}}, err
}

// Brief omits rules that do not match from explanations.
func (e *Explainer) Brief() { e.rules.Brief = true }

// Explain explains the decision on u, which was written as raw, and its stored state.
func (e *Explainer) Explain(raw string, u weburl.URL) (*Explanation, error) {
	found, err := e.found(u)
	if err != nil {
		return nil, err
	}
	out := e.explanationOf(raw, e.rules.Explain(raw, u, found))
	if e.known.Lookup == nil {
		return out, nil
	}
	stored, as, err := e.known.stored(out.Canonical, u)
	if err != nil {
		return nil, err
	}
	if stored.Known && stored.URL == out.Canonical {
		found.Known = true
		if s := stored.StoredURL; s.Kind == "" && as.Key() == u.Key() {
			found.Depth, found.HostSpelling, found.Fragment = s.Depth, s.HostSpelling, s.Fragment
			if asked := u.Fragment(); asked != s.Fragment {
				stored.LinkFragment = asked
			}
		}
		out = e.explanationOf(raw, e.rules.Explain(raw, u, found))
	}
	if stored.Robots, err = e.known.Robots(e.settings.Robots.Agent, e.settings.Robots.Original, as); err != nil {
		return nil, err
	}
	out.Stored = stored
	if err := e.follow(stored); err != nil {
		return nil, err
	}
	answer := out.Answer()
	stored.Why, stored.Help = answer.String(), answer.Help
	return out, nil
}

// found returns that u is unknown, and how many URLs of its host are known.
func (e *Explainer) found(u weburl.URL) (policy.Found, error) {
	host := u.HostKey()
	n, asked := e.hostURLs[host]
	if !asked && e.known.HostURLs != nil && e.rules.LimitsHosts() {
		var err error
		if n, err = e.known.HostURLs(u); err != nil {
			return policy.Found{}, err
		}
		e.hostURLs[host] = n
	}
	return policy.Found{HostURLs: n}, nil
}

// Trap returns the trap that refuses a link accepted by gates and rules, "" if none does.
func (e *Explainer) Trap(u weburl.URL) (string, error) {
	if e.known.Lookup != nil {
		if _, err := e.known.Lookup(u); !errors.Is(err, ErrNotKnown) {
			return "", err
		}
	}
	found, err := e.found(u)
	return e.rules.Trap(u, found), err
}

// follow determines the end of a stored redirect, and whether that is crawled.
func (e *Explainer) follow(s *StoredExplanation) error {
	if s.StoredURL == nil || s.Reason != scheduler.ReasonRedirect.String() {
		return nil
	}
	s.RedirectEndURL = s.RedirectTo
	for range report.MaxRedirects {
		u, ok := weburl.FromCanonical(s.RedirectEndURL)
		if !ok {
			break
		}
		t, err := e.known.Lookup(u)
		if errors.Is(err, ErrNotKnown) {
			break
		}
		if err != nil {
			return err
		}
		if t.Class != scheduler.Redirect.String() || t.RedirectTo == "" {
			s.RedirectEnd = &t
			break
		}
		s.RedirectEndURL = t.RedirectTo
	}
	end := s.RedirectEndURL
	if to, err := weburl.Parse(end); err == nil {
		found, err := e.found(to)
		if err != nil {
			return err
		}
		found.Known = s.RedirectEnd != nil
		s.LeadsOut = e.explanationOf(end, e.rules.Explain(end, to, found)).ExcludedBy
	}
	return nil
}

// explanationOf returns the printed form of a decision.
func (e *Explainer) explanationOf(raw string, x policy.Explained) *Explanation {
	d := x.Rules.Decision
	out := &Explanation{
		URL: raw, Canonical: x.URL.String(), Decision: "ignore", Accept: d.Accept, Index: d.Index && x.Status == 0, Follow: d.Follow && x.Status == 0,
		Shift: d.Shift, Source: d.Source, Metas: map[string][]string{}, Rules: []RuleExplanation{}, Start: x.Rules.Start.Why, Others: len(e.settings.Rules.Rules),
		Gates: x.Gates, KilledBy: x.Killed, Fetch: x.Fetch.Name,
	}
	out.Untaken = out.Index && !e.settings.Taken(d.Source)
	if r := x.Fetch.Render; r != nil {
		out.Render = "auto"
		if r.Always {
			out.Render = "browser"
		}
	}
	if x.Fetch.Login != nil {
		out.LogIn = x.Fetch.Login.Name
	}
	for _, m := range d.Metas {
		out.Metas[m.Name] = append(out.Metas[m.Name], m.Value)
	}
	for _, r := range x.Rules.Rules {
		if r.Matched {
			out.Others--
		}
		t := RuleExplanation{Index: r.Index, File: r.At.File, Line: r.At.Line, Group: r.Group, Matched: r.Matched, Changed: []string{}, Actions: r.Actions}
		for _, dimension := range r.Changed {
			t.Changed = append(t.Changed, dimension.String())
		}
		out.Rules = append(out.Rules, t)
	}
	if x.Status == 0 {
		name, number := x.Fifo.String(), int(x.Fifo)
		out.Decision, out.Fifo, out.FifoNumber = "crawl", &name, &number
		return out
	}
	out.Status, out.ExcludedBy = &x.Status, x.Refused
	if x.Refused != nil {
		return out
	}
	out.ExcludedBy = &crawlspace.Reason{Gate: crawlspace.GateDefault, Rule: policy.OutByDefault(d)}
	if rule, _ := x.Rules.ExcludedBy(); rule >= 0 {
		last, _ := x.Rules.Rule(rule)
		out.ExcludedBy = &crawlspace.Reason{Gate: crawlspace.GateRules, File: last.At.File, Line: last.At.Line, Rule: fmt.Sprintf("rule %d", rule+1)}
	}
	return out
}
