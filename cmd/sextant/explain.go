package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say which rules match a URL, what each changes, and what is decided",
		ArgsUsage: "URL... (- reads them from stdin)",
		Description: "The stored state is looked up where --data is given. The decision is the one that a\n" +
			"newly discovered link would get.",
		Flags:  flags(),
		Action: explain,
	}
}

// explanation is the JSON form of one URL; its names are a contract.
type explanation struct {
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
	ExcludedBy *excludedBy             `json:"excluded_by"`
	Status     *int                    `json:"status"`
	Rules      []ruleExplanation       `json:"rules"`
	Gates      []crawlspace.GateAnswer `json:"gates,omitempty"`
	Fetch      string                  `json:"fetch,omitempty"`     // the Fetch element by which it is asked for
	KilledBy   *crawlspace.Reason      `json:"killed_by,omitempty"` // the kill list's entry that keeps it out of the index
	Stored     *storedExplanation      `json:"stored,omitempty"`

	start string
}

type excludedBy struct {
	Gate string `json:"gate"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Rule string `json:"rule,omitempty"`
}

// String words it for a person.
func (e *excludedBy) String() string {
	switch e.Gate {
	case "default":
		return "default: no rule accepts it"
	case "rules":
		return fmt.Sprintf("%s, %s:%d", e.Rule, e.File, e.Line)
	}
	return crawlspace.Reason{Gate: crawlspace.Gate(e.Gate), File: e.File, Line: e.Line, Rule: e.Rule}.String()
}

type ruleExplanation struct {
	Index   int      `json:"index"`
	Line    int      `json:"line"`
	Group   string   `json:"group"`
	Matched bool     `json:"matched"`
	Changed []string `json:"changed"`
}

// storedExplanation is what the store knows of the URL.
type storedExplanation struct {
	Known bool `json:"known"`
	*crawl.StoredURL
	Robots string `json:"robots"` // what its robots.txt at hand says: allowed, forbidden or unknown
	Why    string `json:"why"`    // why it is, or is not, in the index
}

// unreadable is the JSON form of what is no URL.
type unreadable struct {
	URL   string `json:"url"`
	Error string `json:"error"`
}

func explain(c *cli.Context) error {
	urls, err := urlArguments(c)
	if err != nil {
		return err
	}
	crawler, h, err := oneCrawler(c)
	if err != nil {
		return err
	}
	invalid := false
	show := func(known knowledge) error {
		explainer, err := newExplainer(crawler, known.moved, known.traps)
		if err != nil {
			return err
		}
		for _, raw := range urls {
			u, err := weburl.Parse(raw)
			if err != nil {
				invalid = true
				if err := showUnreadable(c, raw, err); err != nil {
					return err
				}
				continue
			}
			x := explainer.explain(raw, u)
			if known.lookup != nil {
				var as weburl.URL
				if x.Stored, as, err = known.stored(x.Canonical, u); err != nil {
					return err
				}
				if x.Stored.Robots, err = known.robots(crawler, as); err != nil {
					return err
				}
			}
			if err := x.show(c); err != nil {
				return err
			}
		}
		return nil
	}
	if c.IsSet("data") {
		err = withKnowledge(c, h, show)
	} else {
		err = show(knowledge{})
	}
	if err == nil && invalid {
		return no(nil)
	}
	return err
}

// knowledge is what a store adds to an explanation: the sites that moved, what
// traps have counted, and the stored state of a URL (admin.ErrNotKnown where there is none).
type knowledge struct {
	moved  crawl.Moves
	traps  crawl.TrapCounts
	lookup func(weburl.URL) (crawl.StoredURL, error)
	// robots is what the stored robots.txt says to a Crawler.
	robots func(c config.Crawler, u weburl.URL) (string, error)
}

// stored looks a URL up, and says under which name: under its canonical one, else, as
// it may have been stored before that was another, under its own.
func (k knowledge) stored(canonical string, u weburl.URL) (*storedExplanation, weburl.URL, error) {
	as, ok := weburl.FromCanonical(canonical)
	if !ok {
		as = u
	}
	s, err := k.lookup(as)
	if errors.Is(err, admin.ErrNotKnown) && as.Key() != u.Key() {
		if old, again := k.lookup(u); again == nil {
			s, err, as = old, nil, u
		}
	}
	part, err := newStored(s, err)
	return part, as, err
}

// withKnowledge gives fn a look into the store: the running service's, else the files.
func withKnowledge(c *cli.Context, h home, fn func(knowledge) error) error {
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	if service, ok := admin.Dial(c.Context, c.String("data"), c.String("crawler")); ok {
		moved, err := service.Moves(c.Context)
		if err != nil {
			return err
		}
		traps, err := service.TrapCounts(c.Context)
		if err != nil {
			return err
		}
		return fn(knowledge{
			moved:  moved,
			traps:  traps,
			lookup: func(u weburl.URL) (crawl.StoredURL, error) { return service.StoredOne(c.Context, u.String()) },
			robots: func(by config.Crawler, u weburl.URL) (string, error) {
				return service.StoredRobots(c.Context, by.RobotsAgent, by.OriginalRobots, u.String())
			},
		})
	}
	return readStore(c.Context, h, log, func(ctx context.Context, store *badgerstore.Store) error {
		moved, err := crawl.StoredMoves(ctx, store)
		if err != nil {
			return err
		}
		traps, err := crawl.StoredTraps(ctx, store)
		if err != nil {
			return err
		}
		return fn(knowledge{
			moved: moved,
			traps: traps,
			lookup: func(u weburl.URL) (crawl.StoredURL, error) {
				s, ok, err := crawl.StoredOne(ctx, store, u)
				if err == nil && !ok {
					err = admin.ErrNotKnown
				}
				return s, err
			},
			robots: func(by config.Crawler, u weburl.URL) (string, error) {
				return crawl.StoredRobots(ctx, store, by.RobotsAgent, by.OriginalRobots, u)
			},
		})
	})
}

// explainer explains by the gates and rules of one Crawler.
type explainer struct{ *crawl.Explainer }

func newExplainer(crawler config.Crawler, moved crawl.Moves, traps crawl.TrapCounts) (*explainer, error) {
	e, err := crawl.NewExplainer(crawlSettings(crawler), moved, traps)
	return &explainer{e}, err
}

// explain says what is decided of u, which was written as raw.
func (e *explainer) explain(raw string, u weburl.URL) *explanation {
	x := e.Explain(raw, u)
	d := x.Rules.Decision
	out := &explanation{
		URL: raw, Canonical: x.URL.String(), Decision: "ignore", Accept: d.Accept, Index: d.Index, Follow: d.Follow,
		Shift: d.Shift, Source: d.Source, Metas: map[string][]string{}, Rules: []ruleExplanation{}, start: x.Rules.Start.Why,
		Gates: x.Gates, KilledBy: x.Killed, Fetch: x.Fetch,
	}
	for _, m := range d.Metas {
		out.Metas[m.Name] = append(out.Metas[m.Name], m.Value)
	}
	for _, r := range x.Rules.Rules {
		t := ruleExplanation{Index: r.Index, Line: r.At.Line, Group: r.Group, Matched: r.Matched, Changed: []string{}}
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
	out.Status, out.ExcludedBy = &x.Status, &excludedBy{Gate: "default"}
	if x.Refused != nil {
		out.ExcludedBy = &excludedBy{Gate: string(x.Refused.Gate), File: x.Refused.File, Line: x.Refused.Line, Rule: x.Refused.Rule}
	} else if rule, _ := x.Rules.ExcludedBy(); rule >= 0 {
		at := x.Rules.Rules[rule].At
		out.ExcludedBy = &excludedBy{Gate: "rules", File: at.File, Line: at.Line, Rule: fmt.Sprintf("rule %d", rule)}
	}
	return out
}

// newStored words what the store knows of a URL.
func newStored(s crawl.StoredURL, err error) (*storedExplanation, error) {
	switch {
	case errors.Is(err, admin.ErrNotKnown):
		return &storedExplanation{Why: "not in the index: no link to it was found yet"}, nil
	case err != nil:
		return nil, err
	case s.Indexed:
		return &storedExplanation{Known: true, StoredURL: &s, Why: "in the index, or on its way there"}, nil
	}
	why := "not in the index: "
	switch {
	case s.Class == scheduler.Pending.String():
		why += "it waits to be fetched"
		if s.LastError != "" {
			why += ": " + s.LastError
		}
	case s.DuplicateOf != "":
		why += "it is a duplicate of " + s.DuplicateOf
	case s.RedirectTo != "":
		why += "it redirects to " + s.RedirectTo
	case s.LastError != "":
		why += s.LastError
	default:
		why += "the rules do not index it"
	}
	return &storedExplanation{Known: true, StoredURL: &s, Why: why}, nil
}

func showUnreadable(c *cli.Context, raw string, err error) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(unreadable{raw, err.Error()})
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s\n  error     %v\n", raw, err)
	return err
}

func (x *explanation) show(c *cli.Context) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(x)
	}
	x.print(c.App.Writer)
	return nil
}

// print writes the explanation for a person.
func (x *explanation) print(w io.Writer) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-9s "+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintln(w, x.Canonical)
	for _, g := range x.Gates {
		answer := "passes"
		if !g.Allowed {
			answer = "refuses"
		}
		row("gate", "%s %s", g.Reason, answer)
	}
	row("start", "%s", x.start)
	for _, r := range x.Rules {
		did := "does not match"
		if r.Matched {
			did = "matches, sets " + strings.Join(r.Changed, ", ")
		}
		row(fmt.Sprintf("rule %d", r.Index), "line %d, group %s: %s", r.Line, r.Group, did)
	}
	if x.Fifo == nil {
		row("decision", "ignored by %s", x.ExcludedBy)
	} else {
		row("decision", "crawl: %s, %s; fifo %s (%d), shift %d", yesNo(x.Index, "index"), yesNo(x.Follow, "follow"), *x.Fifo, *x.FifoNumber, x.Shift)
		if x.Source != "" {
			row("source", "%s", x.Source)
		}
		if x.Fetch != "" {
			row("fetch", "by the settings %s", x.Fetch)
		}
		if x.KilledBy != nil {
			row("killed", "not indexed: %s", x.KilledBy)
		}
		for _, name := range slices.Sorted(maps.Keys(x.Metas)) {
			row("meta", "%s = %s", name, strings.Join(x.Metas[name], ", "))
		}
	}
	if x.Stored == nil {
		return
	}
	row("index", "%s", x.Stored.Why)
	row("robots", "%s by the robots.txt at hand", x.Stored.Robots)
	if s := x.Stored.StoredURL; s != nil {
		if s.Kind != "" {
			row("kind", "%s", s.Kind)
		}
		row("stored", "status %d, class %s, fifo %s, depth %d, errors %d", s.Status, s.Class, s.Fifo, s.Depth, s.Errors)
		if s.FetchedAt != nil {
			row("fetched", "%s", s.FetchedAt)
		}
		if len(s.Directives) > 0 {
			row("says", "%s", strings.Join(s.Directives, ", "))
		}
		if s.UnavailableAfter != nil {
			row("says", "unavailable_after %s", s.UnavailableAfter)
		}
		if s.LastError != "" {
			row("last", "%s", s.LastError)
		}
		if s.NextAt != nil {
			row("next", "%s", s.NextAt)
		}
		if s.Referrer != "" {
			row("found on", "%s", s.Referrer)
		}
	}
}

func yesNo(yes bool, what string) string {
	if yes {
		return what
	}
	return "no" + what
}
