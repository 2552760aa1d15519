package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
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
	n := 0
	each := func(client *admin.Client, fn func(report.StoredURL) error) error {
		return admin.Each(c.Context, client, "/urls", query, func(u report.StoredURL) error {
			if n++; limit > 0 && n > limit {
				return errEnough
			}
			return fn(u)
		})
	}
	if err = list(c, toRead, "no matching URL is stored", text, each); err != nil && !errors.Is(err, errEnough) {
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
		return func(u *report.StoredURL) error { return printURL(out, u) }, func() error { return nil }
	default:
		return func(u *report.StoredURL) error { return json.NewEncoder(out).Encode(u) }, func() error { return nil }
	}
}

// printURL prints a URL on a line, behind its columns.
func printURL(w io.Writer, u *report.StoredURL) error {
	fate, at := u.Fate, "-"
	if u.Reason != "" && u.Reason != u.Fate {
		fate += " (" + u.Reason + ")"
	}
	if u.FetchedAt != nil {
		at = clock.Local(*u.FetchedAt)
	}
	_, err := fmt.Fprintf(w, "%3d  %-*s  %-30s  %s\n", u.Status, len(clock.LocalForm), at, strings.ReplaceAll(fate, "_", " "), u.URL)
	return err
}

// errEnough ends a list that prints only its first entries.
var errEnough = errors.New("enough was printed")

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
	out := json.NewEncoder(c.App.Writer)
	out.SetEscapeHTML(false)
	show := func(l report.LinkedFrom) error { return out.Encode(l) }
	return ask(c, toRead, func(client *admin.Client) error {
		return admin.Each(c.Context, client, "/links", url.Values{"to": {u.String()}}, show)
	})
}
