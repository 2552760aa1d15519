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

	"github.com/sextant-crawler/sextant/actionrules"
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
	URL        string              `json:"url"`
	Canonical  string              `json:"canonical"`
	Decision   string              `json:"decision"` // crawl or ignore
	Accept     bool                `json:"accept"`
	Index      bool                `json:"index"`
	Follow     bool                `json:"follow"`
	Fifo       *string             `json:"fifo"`
	FifoNumber *int                `json:"fifo_number"`
	Shift      int                 `json:"shift"`
	Source     string              `json:"source"`
	Metas      map[string][]string `json:"metas"`
	ExcludedBy *excludedBy         `json:"excluded_by"`
	Status     *int                `json:"status"`
	Rules      []ruleExplanation   `json:"rules"`
	Stored     *storedExplanation  `json:"stored,omitempty"`

	start string
}

type excludedBy struct {
	Gate string `json:"gate"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Rule string `json:"rule,omitempty"`
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
	Why string `json:"why"` // why it is, or is not, in the index
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
	explainer, err := newExplainer(crawler)
	if err != nil {
		return err
	}
	invalid := false
	show := func(lookup func(weburl.URL) (*storedExplanation, error)) error {
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
			if x.Stored, err = lookup(u); err != nil {
				return err
			}
			if err := x.show(c); err != nil {
				return err
			}
		}
		return nil
	}
	if !c.IsSet("data") {
		err = show(func(weburl.URL) (*storedExplanation, error) { return nil, nil })
	} else {
		err = withLookup(c, h, show)
	}
	if err == nil && invalid {
		return no(nil)
	}
	return err
}

// withLookup gives fn a look into the store: the running service's, else the files.
func withLookup(c *cli.Context, h home, fn func(func(weburl.URL) (*storedExplanation, error)) error) error {
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	if service, ok := admin.Dial(c.Context, c.String("data"), c.String("crawler")); ok {
		return fn(func(u weburl.URL) (*storedExplanation, error) {
			s, err := service.StoredOne(c.Context, u.String())
			return newStored(s, err)
		})
	}
	return readStore(c.Context, h, log, func(ctx context.Context, store *badgerstore.Store) error {
		return fn(func(u weburl.URL) (*storedExplanation, error) {
			s, ok, err := crawl.StoredOne(ctx, store, u)
			if err == nil && !ok {
				err = admin.ErrNotKnown
			}
			return newStored(s, err)
		})
	})
}

// explainer explains by the rules of one Crawler.
type explainer struct{ engine *actionrules.Engine }

func newExplainer(crawler config.Crawler) (*explainer, error) {
	return &explainer{engine: crawler.Engine}, nil
}

// explain says what is decided of u, which was written as raw.
func (e *explainer) explain(raw string, u weburl.URL) *explanation {
	x := e.engine.Explain(u)
	d := x.Decision
	out := &explanation{
		URL: raw, Canonical: u.String(), Decision: "ignore", Accept: d.Accept, Index: d.Index, Follow: d.Follow,
		Shift: d.Shift, Source: d.Source, Metas: map[string][]string{}, Rules: []ruleExplanation{}, start: x.Start.Why,
	}
	for _, m := range d.Metas {
		out.Metas[m.Name] = append(out.Metas[m.Name], m.Value)
	}
	for _, r := range x.Rules {
		t := ruleExplanation{Index: r.Index, Line: r.At.Line, Group: r.Group, Matched: r.Matched, Changed: []string{}}
		for _, dimension := range r.Changed {
			t.Changed = append(t.Changed, dimension.String())
		}
		out.Rules = append(out.Rules, t)
	}
	if rule, excluded := x.ExcludedBy(); excluded {
		out.ExcludedBy = &excludedBy{Gate: "default"}
		if rule >= 0 {
			at := x.Rules[rule].At
			out.ExcludedBy = &excludedBy{Gate: "rules", File: at.File, Line: at.Line, Rule: fmt.Sprintf("rule %d", rule)}
		}
		status := crawl.StatusExcluded
		out.Status = &status
		return out
	}
	fifo := scheduler.SourceFor(d.Index, d.Follow, d.Shift, d.Root)
	name, number := fifo.String(), int(fifo)
	out.Decision, out.Fifo, out.FifoNumber = "crawl", &name, &number
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
	row("start", "%s", x.start)
	for _, r := range x.Rules {
		did := "does not match"
		if r.Matched {
			did = "matches, sets " + strings.Join(r.Changed, ", ")
		}
		row(fmt.Sprintf("rule %d", r.Index), "line %d, group %s: %s", r.Line, r.Group, did)
	}
	if x.Fifo == nil {
		by := "by default: no rule accepts it"
		if x.ExcludedBy.Gate != "default" {
			by = fmt.Sprintf("by %s, %s:%d", x.ExcludedBy.Rule, x.ExcludedBy.File, x.ExcludedBy.Line)
		}
		row("decision", "ignored %s", by)
	} else {
		row("decision", "crawl: %s, %s; fifo %s (%d), shift %d", yesNo(x.Index, "index"), yesNo(x.Follow, "follow"), *x.Fifo, *x.FifoNumber, x.Shift)
		if x.Source != "" {
			row("source", "%s", x.Source)
		}
		for _, name := range slices.Sorted(maps.Keys(x.Metas)) {
			row("meta", "%s = %s", name, strings.Join(x.Metas[name], ", "))
		}
	}
	if x.Stored == nil {
		return
	}
	row("index", "%s", x.Stored.Why)
	if s := x.Stored.StoredURL; s != nil {
		row("stored", "status %d, class %s, fifo %s, depth %d, errors %d", s.Status, s.Class, s.Fifo, s.Depth, s.Errors)
		if s.FetchedAt != nil {
			row("fetched", "%s", s.FetchedAt)
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
