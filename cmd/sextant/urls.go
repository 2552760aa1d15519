package main

import (
	"net/url"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/weburl"
)

// filterFlags returns the flags that select stored URLs as report.ParseFilter does, except for
// source, which has more than one meaning.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "status", Usage: "only URLs with this HTTP `CODE`, or class of codes such as 4xx (760: excluded, 0: never answered)"},
		&cli.StringFlag{Name: "class", Usage: "only `ok|redirect|ignored|temporary|permanent|pending`"},
		&cli.StringFlag{Name: "reason", Usage: "only URLs with this `REASON`, such as not_found or duplicate"},
		&cli.StringFlag{Name: "fate", Usage: "only URLs with this `FATE`, such as indexed, near_duplicate or deletion_pending"},
		&cli.StringFlag{Name: "error", Usage: "only URLs with this `CLASS` of errors of the reports, such as 4xx or dns"},
		&cli.StringFlag{Name: "fifo", Usage: "only URLs in this `FIFO`"},
		&cli.StringFlag{Name: "host", Usage: "only URLs of this `HOST` name, or scheme://host:port"},
		&cli.StringFlag{Name: "text", Usage: "only URLs with this `TEXT` in them"},
	}
}

// filterOf returns the flags that are set.
func filterOf(c *cli.Context) url.Values {
	query := url.Values{}
	for _, name := range report.FilterNames() {
		if c.IsSet(name) {
			query.Set(name, c.String(name))
		}
	}
	return query
}

func listURLs(c *cli.Context) error {
	if c.IsSet("links-to") {
		return listLinks(c, c.String("links-to"))
	}
	query := filterOf(c)
	match, err := conditionText(c.String("match"))
	if err != nil {
		return err
	}
	if match != "" {
		query.Set("match", match)
	}
	if _, err := admin.ParseURLFilter(query); err != nil {
		return wrongUse("--%w", err)
	}
	order, err := report.ParseOrder(c.String("sort"), report.Columns(report.KindURLs))
	if err != nil {
		return wrongUse("--%w", err)
	}
	limit := c.Int("limit")
	if c.Bool("csv") && c.Bool("json") {
		return wrongUse("urls: write --csv or --json, not both")
	}
	if limit < 0 {
		return wrongUse("--limit %d: write 1 or more, or 0 for all", limit)
	}
	if order.By != "" {
		query.Set("sort", order.String())
	}
	if 0 < limit && limit <= admin.MaxLimit {
		query.Set("limit", strconv.Itoa(limit))
	}
	text, end := urlPrinter(c)
	if err := list(c, toRead, "no matching URL is stored", text, "/urls", query); err != nil {
		return err
	}
	return end()
}

// urlPrinter returns functions that print a URL, as CSV, in a table or as JSON, and end the list.
func urlPrinter(c *cli.Context) (text func(*report.StoredURL) error, end func() error) {
	switch out := c.App.Writer; {
	case c.Bool("csv"):
		csv := report.NewCSV(out, report.KindURLs)
		return func(u *report.StoredURL) error { return csv.Put(*u) }, csv.End
	case onTerminal(c):
		return line[report.StoredURL](c, "url"), func() error { return nil }
	default:
		return func(u *report.StoredURL) error { return jsonTo(out).Encode(u) }, func() error { return nil }
	}
}

// listLinks prints the pages that link to a URL.
func listLinks(c *cli.Context, to string) error {
	for _, name := range append(report.FilterNames(), "match", "sort", "limit") {
		if c.IsSet(name) {
			return wrongUse("urls: --links-to takes no --%s", name)
		}
	}
	u, err := weburl.Parse(to)
	if err != nil {
		return wrongUse("--links-to: %w", err)
	}
	text := func(l *report.LinkedFrom) error { return jsonTo(c.App.Writer).Encode(l) }
	return list(c, toRead, "no page is known to link to it", text, "/links", url.Values{"to": {u.String()}})
}
