package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func removeCommand() *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "forget stored URLs and delete their documents: those that everything written selects",
		ArgsUsage: "[URL...] (- reads them from stdin)",
		Description: "The brake does not hold these deletions. A URL that a page still links to is found\n" +
			"again when that page changes; rules keep it out for good. Roots of the configuration stay.",
		Flags:  selectionFlags(&cli.BoolFlag{Name: "yes", Usage: "with --all: yes, all of them"}),
		Action: remove,
	}
}

func remove(c *cli.Context) error {
	selection, err := selectionOf(c)
	if err != nil {
		return err
	}
	if selection.All && !c.Bool("yes") {
		return wrongUse("remove --all forgets every URL and deletes every document: write --yes, too, if that is meant")
	}
	done, err := removeBy(c, selection)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(done)
	}
	fmt.Fprintf(c.App.Writer, "%s removed, %s for the indexer\n", count(done.URLs, "URL"), count(done.Deletions, "deletion"))
	if len(done.Roots) > 0 {
		fmt.Fprintf(c.App.Writer, "roots of the configuration stay: %s\n", strings.Join(done.Roots, ", "))
	}
	return nil
}

// removeBy has the service do it, or does it where none runs.
func removeBy(c *cli.Context, selection admin.Selection) (done crawl.Removed, err error) {
	if service, ok := admin.Dial(c.Context, c.String("data"), c.String("crawler")); ok {
		done, err = service.Remove(c.Context, selection)
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
		done, err = crawl.RemoveStored(ctx, crawlSettings(crawler), store, compiled)
		return answered(err)
	})
	return done, err
}
