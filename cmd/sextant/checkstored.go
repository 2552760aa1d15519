package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/report"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/service"
	"github.com/sextant-crawler/sextant/weburl"
)

// unmatched warns of rules of a Crawler that hold for none of the URLs in its store. Rules
// that ignore are not judged: what they match is not stored.
func unmatched(c *cli.Context, parsed *config.File, crawler config.Crawler) ([]config.Problem, error) {
	matched := make([]bool, len(crawler.Rules.Rules))
	known := 0
	look := func(s report.StoredURL) error {
		u, ok := weburl.FromCanonical(s.URL)
		if !ok {
			return nil
		}
		known++
		for _, i := range crawler.Engine.Matching(u.WithFragment(s.Fragment)) {
			matched[i] = true
		}
		return nil
	}
	if err := eachStored(c, service.HomeOf(parsed, crawler, c.String("data")), crawler.Name, look); err != nil || known == 0 {
		return nil, err
	}
	var problems []config.Problem
	for i, r := range crawler.Rules.Rules {
		if !matched[i] && !ignores(&r) {
			problems = append(problems, config.Problem{At: r.At, Message: fmt.Sprintf("this rule matches none of %s", count(known, "known URL"))})
		}
	}
	return problems, nil
}

func ignores(r *actionrules.Rule) bool {
	for _, a := range r.Then {
		if a.Verb == actionrules.Ignore {
			return true
		}
	}
	return false
}

// eachStored calls fn for each stored URL of a Crawler, of the running service or the files.
func eachStored(c *cli.Context, h service.Home, crawler string, fn func(report.StoredURL) error) error {
	if client, ok := admin.Dial(c.Context, c.String("data"), crawler); ok {
		return client.Stored(c.Context, nil, fn)
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	return service.ReadStore(c.Context, h, log, func(ctx context.Context, store *badgerstore.Store) error {
		return report.EachURL(ctx, store, report.Filter{}, fn)
	})
}
