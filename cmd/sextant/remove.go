package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	done, err := bySelection(c, selection, (*admin.Client).Remove,
		func(ctx context.Context, s crawl.Settings, store *badgerstore.Store, selected crawl.Selection, _ *slog.Logger) (crawl.Removed, error) {
			return crawl.RemoveStored(ctx, s, store, selected)
		})
	if err != nil && done.URLs == 0 {
		return err
	}
	if c.Bool("json") {
		return errors.Join(err, json.NewEncoder(c.App.Writer).Encode(done))
	}
	fmt.Fprintf(c.App.Writer, "%s removed, %s for the indexer\n", count(done.URLs, "URL"), count(done.Deletions, "deletion"))
	if len(done.Roots) > 0 {
		fmt.Fprintf(c.App.Writer, "roots of the configuration stay: %s\n", strings.Join(done.Roots, ", "))
	}
	return err // of what came after that
}
