package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
)

// pagesShown is how many pages with a broken link are printed for people.
const pagesShown = 10

func makeReport(c *cli.Context) error {
	kind := c.Args().First()
	if !slices.Contains(report.Kinds(), kind) || c.Args().Len() > 1 {
		return wrongUse("report %q: write one of %s", strings.Join(c.Args().Slice(), " "), strings.Join(report.Kinds(), ", "))
	}
	o, err := reportOptions(c, kind)
	if err != nil {
		return err
	}
	var to report.Sink
	switch {
	case c.Bool("csv") && c.Bool("json"):
		return wrongUse("report: write --csv or --json, not both")
	case c.Bool("csv"):
		to = report.NewCSV(c.App.Writer, kind)
	case c.Bool("json"):
		to = report.NewJSON(c.App.Writer)
	default:
		to = report.NewLines(c.App.Writer, kind, o.Since)
	}
	return ask(c, toRead, func(client *admin.Client) error { return client.Report(c.Context, kind, o, to) })
}

func reportOptions(c *cli.Context, kind string) (report.Options, error) {
	query := url.Values{"host": {c.String("host")}, "since": {c.String("since")}, "top": {fmt.Sprint(c.Int("top"))}, "pages": {fmt.Sprint(c.Int("pages"))}, "sort": {c.String("sort")}, "limit": {fmt.Sprint(c.Int("limit"))}}
	if !c.IsSet("pages") && !c.Bool("csv") && !c.Bool("json") {
		query.Set("pages", fmt.Sprint(pagesShown))
	}
	if kind == report.KindDocuments && c.IsSet("since") {
		return report.Options{}, wrongUse("report documents says what is there now: it takes no --since; report changes does")
	}
	if kind == report.KindRounds && c.IsSet("host") {
		return report.Options{}, wrongUse("report rounds is about all hosts: it takes no --host")
	}
	o, err := report.ParseOptions(kind, query, time.Now())
	if err != nil {
		return o, wrongUse("--%w", err)
	}
	return o, nil
}
