package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/weburl"
)

// checked is the last line of check --json.
type checked struct {
	Valid    bool                 `json:"valid"`
	Errors   int                  `json:"errors"`
	Warnings int                  `json:"warnings"`
	Notes    int                  `json:"notes"`
	Silenced int                  `json:"silenced"` // warnings and notes silenced by comments in the files
	Crawlers []admin.DraftCrawler `json:"crawlers"`
}

// check prints its findings to stdout: they are the command's output, not an error.
func check(c *cli.Context) error {
	path, err := configPath(c)
	if err != nil {
		return err
	}
	parsed, report, err := config.LoadWith(path, ownFiles(c).Lookups())
	if err != nil {
		return err
	}
	if parsed != nil && c.IsSet("data") {
		for _, crawler := range parsed.Crawlers {
			problems, err := unmatched(c, parsed, crawler)
			if err != nil {
				return err
			}
			report.AddWarnings(problems)
		}
	}
	if parsed != nil && !c.Bool("no-browser") {
		report.AddWarnings(tryBrowsers(c.Context, parsed))
	}
	if err := showEach(c, "finding", admin.Findings(report)); err != nil {
		return err
	}
	if err := showChecked(c, parsed, report); err != nil {
		return err
	}
	if parsed == nil || c.Bool("strict") && len(report.Warnings) > 0 {
		return no(nil)
	}
	return nil
}

// tryBrowsers warns of browsers that cannot be used here.
func tryBrowsers(ctx context.Context, parsed *config.File) (problems []config.Problem) {
	tried := map[string]error{}
	for i := range parsed.Crawlers {
		crawler := &parsed.Crawlers[i]
		if !crawler.Renders() {
			continue
		}
		command := strings.Join(crawler.Browser.Command, " ")
		err, known := tried[command]
		if !known {
			err = service.TryBrowser(ctx, crawler.Browser)
			tried[command] = err
		}
		if err != nil {
			problems = append(problems, config.Problem{At: crawler.BrowserAt, Message: "pages to be rendered wait: " + err.Error()})
		}
	}
	return problems
}

// showChecked prints the patterns on request, and the summary.
func showChecked(c *cli.Context, parsed *config.File, report config.Report) error {
	sum := checked{
		Valid: parsed != nil, Errors: len(report.Errors), Warnings: len(report.Warnings), Notes: len(report.Notes), Silenced: report.Silenced,
		Crawlers: []admin.DraftCrawler{},
	}
	if parsed != nil {
		for _, crawler := range parsed.Crawlers {
			if err := showPatterns(c, crawler); err != nil {
				return err
			}
			sum.Crawlers = append(sum.Crawlers, admin.NewDraftCrawler(crawler))
		}
	}
	return showText(c, "checked", sum)
}

// showPatterns prints the patterns of a Crawler's rules on request.
func showPatterns(c *cli.Context, crawler config.Crawler) error {
	if !c.Bool("patterns") {
		return nil
	}
	for _, p := range actionrules.Patterns(crawler.Rules) {
		if err := showPattern(c, p); err != nil {
			return err
		}
	}
	return nil
}

func showPattern(c *cli.Context, p actionrules.Pattern) error {
	record := map[string]any{
		"file": p.At.File, "line": p.At.Line, "column": p.At.Column, "value": p.Value, "regexp": p.Regexp,
	}
	return printResult(c, record, fmt.Sprintf("%s: %s  ->  %s", p.At, p.Value, p.Regexp))
}

// unmatched warns of rules and Refresh elements of a Crawler that match no URL in its store. Rules that ignore are not
// checked, since the URLs that they match are not stored.
func unmatched(c *cli.Context, parsed *config.File, crawler config.Crawler) ([]config.Problem, error) {
	matched := make([]bool, len(crawler.Rules.Rules))
	known := 0
	refreshes := map[string]*actionrules.Matcher{} // by condition, until a URL matches it
	for _, r := range crawler.Refreshes {
		if r.If == nil {
			continue
		}
		if m, errs := actionrules.CompileCondition(r.If); len(errs) == 0 {
			refreshes[r.Match] = m
		}
	}
	look := func(s report.StoredURL) error {
		u, ok := weburl.FromCanonical(s.URL)
		if !ok {
			return nil
		}
		known++
		for _, i := range crawler.Engine.Matching(u.WithFragment(s.Fragment)) {
			matched[i] = true
		}
		maps.DeleteFunc(refreshes, func(_ string, m *actionrules.Matcher) bool { return m.Match(u) })
		return nil
	}
	database, err := databaseOf(c)
	if err != nil {
		return nil, err
	}
	home := service.HomeOf(parsed, crawler, c.String("data"), database)
	if !home.Exists() {
		fmt.Fprintf(c.App.ErrWriter, "%s contains no store: the rules are not compared with stored URLs\n", home.Dir)
		return nil, nil
	}
	err = askFor(c, crawler.Name, readOnly(home), func(client *admin.Client) error {
		return admin.Each(c.Context, client, "/urls", nil, look)
	})
	if err != nil || known == 0 {
		return nil, err
	}
	var problems []config.Problem
	for i, r := range crawler.Rules.Rules {
		if !matched[i] && !ignores(&r) {
			problems = append(problems, config.Problem{At: r.At, Message: fmt.Sprintf("this rule matches none of %s", admin.Count(known, "known URL"))})
		}
	}
	for _, match := range slices.Sorted(maps.Keys(refreshes)) {
		problems = append(problems, config.Problem{At: crawler.At, Message: fmt.Sprintf("the <Refresh> with %s matches none of %s", match, admin.Count(known, "known URL"))})
	}
	return problems, nil
}

func ignores(r *actionrules.Rule) bool {
	return slices.ContainsFunc(r.Then, func(a actionrules.Action) bool { return a.Verb == actionrules.Ignore })
}
