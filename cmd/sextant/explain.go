package main

import (
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/internal/service"
)

// explainGC lets the heap grow further before a collection than in a service: in a command with 100,000 rules that ends
// after a second, the collector would take a quarter of the time.
const explainGC = 300

func explain(c *cli.Context) error {
	defer debug.SetGCPercent(debug.SetGCPercent(explainGC))
	urls, err := urlArguments(c)
	if err != nil {
		return err
	}
	all, err := explainers(c)
	if err != nil {
		return err
	}
	chosen := choose(all, urls)
	invalid := false
	show := func() error {
		for i, raw := range urls {
			ok, err := all[chosen[i]].show(c, raw, len(all) > 1)
			if err != nil {
				return err
			}
			invalid = invalid || !ok
		}
		return nil
	}
	show = withAllKnowledge(c, all, chosen, show)
	if err = show(); err == nil && invalid {
		return no(nil)
	}
	return err
}

// withKnowledge calls fn with the store's data, if there is a store or --data names one. It uses the running service,
// else the files. If the store cannot be read and --data is not set, it logs that and calls fn without.
func withKnowledge(c *cli.Context, h service.Home, crawler string, fn func(admin.Knowledge) error) error {
	if !c.IsSet("data") {
		if !h.Exists() {
			return fn(admin.Knowledge{})
		}
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	looked := false
	err = askFor(c, crawler, readOnly(h), func(client *admin.Client) error {
		known, err := client.Knowledge(c.Context)
		if err != nil {
			return err
		}
		looked = true
		return fn(known)
	})
	if err == nil || looked || c.IsSet("data") {
		return err
	}
	log.Warn("stored state not shown", "data", h.Dir, "error", err)
	return fn(admin.Knowledge{})
}

func showUnreadable(c *cli.Context, raw string, err error) error {
	return say(c, admin.Unreadable{URL: raw, Error: err.Error()}, fmt.Sprintf("%s: cannot be crawled: %v", raw, err))
}

// explanation writes the lines of an explanation.
type explanation struct {
	w     io.Writer
	paint paint
}

func (e explanation) row(name, format string, args ...any) {
	fmt.Fprintf(e.w, "  %-9s "+format+"\n", append([]any{name}, args...)...)
}

// some is row for a value that may be empty: then it writes nothing.
func (e explanation) some(name, format, value string) {
	if value != "" {
		e.row(name, format, value)
	}
}

// printExplanation writes the explanation for people: the verdict first, then its reasons.
func printExplanation(w io.Writer, x *admin.Explanation, verdict admin.Answer, p paint) {
	e := explanation{w, p}
	fmt.Fprintf(w, "%s: %s\n", x.Canonical, p(bold, clock.Localize(verdict.String())))
	for _, note := range verdict.Notes {
		fmt.Fprintln(w, "  "+clock.Localize(note))
	}
	e.some("help", "%s", clock.Localize(verdict.Help))
	e.some("crawler", "%s", x.Crawler)
	e.decision(x)
	e.reasons(x)
	if x.Stored != nil {
		e.stored(x.Stored)
	}
}

func (e explanation) decision(x *admin.Explanation) {
	if x.Fifo == nil {
		by := " by "
		if x.ExcludedBy.Gate == crawlspace.GateDefault {
			by = ": "
		}
		e.row("decision", "%s%s%s", e.paint(bad, "ignored"), by, x.ExcludedBy)
		return
	}
	e.row("decision", "%s: %s, %s; fifo %s (%d), shift %d", e.paint(good, "crawl"), yesNo(x.Index, "index"), yesNo(x.Follow, "follow"), *x.Fifo, *x.FifoNumber, x.Shift)
	e.some("source", "%s", x.Source)
	e.some("fetch", "by the settings %s", x.Fetch)
	switch x.Render {
	case "auto":
		e.row("render", "by a browser, if it is an application shell")
	case "browser":
		e.row("render", "by a browser")
	}
	e.some("log-in", "%s", x.LogIn)
	if x.KilledBy != nil {
		e.row("killed", "not indexed: %s", x.KilledBy)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Metas)) {
		e.row("meta", "%s = %s", name, strings.Join(x.Metas[name], ", "))
	}
}

// reasons writes the gates and the matching rules, and counts the others.
func (e explanation) reasons(x *admin.Explanation) {
	for _, g := range x.Gates {
		answer := g.Answer()
		switch {
		case g.NewLinks != "":
			answer = ": " + answer
		case !g.Allowed:
			answer = " " + e.paint(bad, answer)
		default:
			answer = " " + answer
		}
		e.row("gate", "%s%s", g.Reason, answer)
	}
	e.row("start", "%s", x.Start)
	printRules(e.row, x)
}

func (e explanation) stored(k *admin.StoredExplanation) {
	e.row("robots", "%s by the robots.txt at hand", k.Robots)
	s := k.StoredURL
	if s == nil {
		return
	}
	e.some("kind", "%s", s.Kind)
	as := "fate " + s.Fate
	if s.Reason != "" {
		as += ", reason " + s.Reason
	}
	e.row("stored", "status %d, class %s, %s, fifo %s, depth %d, errors %d", s.Status, s.Class, as, s.Fifo, s.Depth, s.Errors)
	if s.FetchedAt != nil {
		e.row("fetched", "%s", clock.Local(*s.FetchedAt))
	}
	if s.Rendered {
		e.row("rendered", "by a browser")
	}
	e.some("says", "%s", join(s.Directives))
	if s.UnavailableAfter != nil {
		e.row("says", "unavailable_after %s", clock.Local(*s.UnavailableAfter))
	}
	e.some("last", "%s", clock.Localize(s.LastError))
	if s.NextAt != nil {
		e.row("next", "%s", clock.Local(*s.NextAt))
	}
	e.some("found on", "%s", s.Referrer)
}

// printRules writes the matching rules, and the number of the others.
func printRules(row func(name, format string, args ...any), x *admin.Explanation) {
	for _, r := range x.Rules {
		if r.Matched {
			row(fmt.Sprintf("rule %d", r.Index+1), "line %d, group %s: matches: %s", r.Line, r.Group, strings.Join(r.Actions, ", "))
		}
	}
	if x.Others > 0 {
		row("rules", "%s not match", doNot(x.Others))
	}
}

// doNot describes the number of rules that do not match.
func doNot(n int) string {
	if n == 1 {
		return "1 rule does"
	}
	return count(n, "rule") + " do"
}

func yesNo(yes bool, what string) string {
	if yes {
		return what
	}
	return "no" + what
}
