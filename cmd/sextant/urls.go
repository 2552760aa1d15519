package main

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/report"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// urlFilters are the flags that select stored URLs, by the names of report.ParseFilter.
var urlFilters = []string{"status", "class", "fifo", "host"}

func urlsCommand() *cli.Command {
	return &cli.Command{
		Name:  "urls",
		Usage: "print stored URLs and their statuses as JSON Lines",
		Flags: flags(
			&cli.StringFlag{Name: "status", EnvVars: env("status"), Usage: "only this HTTP `CODE` (760 excluded, 0 never answered)"},
			&cli.StringFlag{Name: "class", EnvVars: env("class"), Usage: "only `ok|redirect|ignored|temporary|permanent|pending`"},
			&cli.StringFlag{Name: "fifo", EnvVars: env("fifo"), Usage: "only this `FIFO`"},
			&cli.StringFlag{Name: "host", EnvVars: env("host"), Usage: "only this `HOST` name, or scheme://host:port"},
			&cli.StringFlag{Name: "match", EnvVars: env("match"), Usage: "only URLs for which this `XMLCONDITION` holds, as <Path val=\"/a\"/>"},
			linksToFlag(),
		),
		Action: listURLs,
	}
}

func listURLs(c *cli.Context) error {
	if c.Args().Present() {
		return wrongUse("urls takes no arguments, found %q", c.Args().First())
	}
	if c.IsSet("links-to") {
		return listLinks(c, c.String("links-to"))
	}
	query := url.Values{}
	for _, name := range urlFilters {
		if c.IsSet(name) {
			query.Set(name, c.String(name))
		}
	}
	filter, err := report.ParseFilter(query)
	if err != nil {
		return wrongUse("--%w", err)
	}
	match, err := urlMatch(c.String("match"))
	if err != nil {
		return err
	}
	out := json.NewEncoder(c.App.Writer)
	show := func(u report.StoredURL) error {
		if !match(u.URL) {
			return nil
		}
		return out.Encode(u)
	}
	return fromServiceOrStore(c,
		func(client *admin.Client) error { return client.Stored(c.Context, query, show) },
		func(ctx context.Context, store *badgerstore.Store) error {
			return report.EachURL(ctx, store, filter, show)
		})
}

// urlMatch compiles the condition of --match; none matches every URL.
func urlMatch(condition string) (func(string) bool, error) {
	text, err := conditionText(condition)
	if text == "" {
		return func(string) bool { return true }, err
	}
	parsed, err := admin.ParseCondition(text)
	if err != nil {
		return nil, err
	}
	matcher, errs := actionrules.CompileCondition(parsed)
	if len(errs) > 0 {
		return nil, wrongUse("--match: %w", errs[0])
	}
	return func(s string) bool {
		u, err := weburl.Parse(s)
		return err == nil && matcher.Match(u)
	}, nil
}
