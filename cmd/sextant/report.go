package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
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
	query, since, err := reportQuery(c, kind)
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
		to = newReportText(c.App.Writer, kind, since)
	}
	return ask(c, toRead, func(client *admin.Client) error { return client.Report(c.Context, kind, query, to) })
}

// reportQuery returns the parameters of a report, with the time since which it is.
func reportQuery(c *cli.Context, kind string) (url.Values, time.Time, error) {
	query := admin.Query("host", c.String("host"), "since", c.String("since"), "sort", c.String("sort"))
	for _, name := range []string{"top", "pages", "limit"} {
		query.Set(name, fmt.Sprint(c.Int(name)))
	}
	if !c.IsSet("pages") && !c.Bool("csv") && !c.Bool("json") {
		query.Set("pages", fmt.Sprint(pagesShown))
	}
	if kind == report.KindDocuments && c.IsSet("since") {
		return nil, time.Time{}, wrongUse("report documents says what is there now: it takes no --since; report changes does")
	}
	if kind == report.KindRounds && c.IsSet("host") {
		return nil, time.Time{}, wrongUse("report rounds is about all hosts: it takes no --host")
	}
	o, err := report.ParseOptions(kind, query, time.Now())
	if err != nil {
		return nil, o.Since, wrongUse("--%w", err)
	}
	if !o.Since.IsZero() { // the service may be in another zone
		query.Set("since", o.Since.UTC().Format(time.RFC3339))
	}
	if !report.Streamed(kind) {
		query.Del("limit")
	}
	return query, o.Since, nil
}

// reportText writes a report for people. It is a report.Sink.
type reportText struct {
	out   io.Writer
	write func(template string, v any) error // to out
	kind  string
	// Since is that of the report's options; URLs counts the broken ones, Alone those that no page is known to link to,
	// Changes the changes by kind.
	Since       time.Time
	URLs, Alone int
	Changes     map[string]int
}

func newReportText(w io.Writer, kind string, since time.Time) *reportText {
	return &reportText{out: w, write: texts(w, unpainted), kind: kind, Since: since, Changes: map[string]int{}}
}

// Put implements report.Sink.
func (r *reportText) Put(e report.Entry) error {
	switch e := e.(type) {
	case report.Broken:
		if e.Part <= 1 {
			r.URLs++
		}
		if e.Pages == 0 {
			r.Alone++
		}
	case report.Change:
		r.Changes[e.Change]++
	case report.Round:
		return r.write(r.kind, &e)
	}
	if report.Streamed(r.kind) {
		return r.write(r.kind, e)
	}
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	return errors.Join(texts(table, unpainted)(r.kind, e), table.Flush())
}

// End writes the sums.
func (r *reportText) End() error {
	if r.kind != report.KindBroken && r.kind != report.KindChanges {
		return nil
	}
	return r.write(r.kind+" end", r)
}

// Kinds returns the kinds of the changes, in order.
func (r *reportText) Kinds() []string {
	return slices.DeleteFunc(report.ChangeKinds(), func(kind string) bool { return r.Changes[kind] == 0 })
}
