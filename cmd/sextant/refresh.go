package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func refreshCommand() *cli.Command {
	return &cli.Command{
		Name:      "refresh",
		Usage:     "fetch stored URLs again: those that everything written selects",
		ArgsUsage: "[URL...] (- reads them from stdin)",
		Description: "They wait in the index fifo, or where smart refresh is on in refresh, and are asked\n" +
			"for with their validators. Where no service runs they wait for its next start.",
		Flags:  selectionFlags(&cli.BoolFlag{Name: "full", EnvVars: env("full"), Usage: "fetch whole pages and push them also where they did not change"}),
		Action: refresh,
	}
}

func refresh(c *cli.Context) error {
	selection, err := selectionOf(c)
	if err != nil {
		return err
	}
	done, err := refreshBy(c, selection)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(done)
	}
	fmt.Fprintf(c.App.Writer, "%s queued; %d waited already, %d excluded by the rules\n", count(done.URLs, "URL"), done.Waiting, done.Excluded)
	return nil
}

// refreshBy has the service do it, or does it where none runs.
func refreshBy(c *cli.Context, selection admin.Selection) (done crawl.Refreshed, err error) {
	if service, ok := admin.Dial(c.Context, c.String("data"), c.String("crawler")); ok {
		done, err = service.Refresh(c.Context, selection)
		return done, asked(err)
	}
	compiled, err := selection.Compile(parseCondition)
	if err != nil {
		return done, err
	}
	log, err := newLogger(c)
	if err != nil {
		return done, err
	}
	crawler, h, err := oneCrawler(c)
	if err != nil {
		return done, err
	}
	err = withKnownStore(c.Context, h, storeOptions(crawler, log), func(ctx context.Context, store *badgerstore.Store) error {
		done, err = crawl.RefreshStored(ctx, crawlSettings(crawler), store, compiled, log)
		return answered(err)
	})
	return done, err
}
