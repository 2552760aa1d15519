package main

import (
	"fmt"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
)

// explainGC lets the heap grow more between collections than in a service: a command with 100,000 rules ends after a
// second, and the collector would take a quarter of it.
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
	if !c.IsSet("data") && !h.Exists() {
		return fn(admin.Knowledge{})
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
	return printResult(c, admin.Unreadable{URL: raw, Error: err.Error()}, fmt.Sprintf("%s: cannot be crawled: %v", raw, err))
}
