package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
)

func refreshCommand() *cli.Command {
	return &cli.Command{
		Name:      "refresh",
		Usage:     "fetch stored URLs again",
		ArgsUsage: "[URL...] (- reads them from stdin)",
		Description: "They wait in the fifo index, or in refresh if smart refresh is on, and are requested " +
			"conditionally. If no service runs, they wait for its next start.",
		Flags:  selectionFlags(&cli.BoolFlag{Name: "full", Usage: "fetch whole pages, and push them even if they have not changed"}),
		Action: refresh,
	}
}

func refresh(c *cli.Context) error {
	selection, err := selectionOf(c)
	if err != nil {
		return err
	}
	var done crawl.Refreshed
	err = ask(c, toSelect, func(client *admin.Client) error {
		done, err = client.Refresh(c.Context, selection)
		return err
	})
	if err != nil && done.URLs == 0 {
		return err
	}
	if c.Bool("json") {
		return errors.Join(err, json.NewEncoder(c.App.Writer).Encode(done))
	}
	if done.HeldUp > 0 {
		defer fmt.Fprintf(c.App.Writer, "%s of these could not be asked for lately, and will wait until robots.txt, proxy or log-in can be had: sextant explain says which\n", count(done.HeldUp, "URL"))
	}
	fmt.Fprintf(c.App.Writer, "%s queued; %d waited already, %d excluded by the rules\n", count(done.URLs, "URL"), done.Waiting, done.Excluded)
	return err // of what came after that
}
