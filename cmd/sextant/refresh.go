package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

func refresh(c *cli.Context) error {
	selection, err := selectionOf(c)
	if err != nil {
		return err
	}
	done, err := asked(c, toSelect, (*admin.Client).Refresh, selection)
	if err != nil {
		return err
	}
	words := admin.Count(done.URLs, "URL") +
		fmt.Sprintf(" queued; %d were already queued, %d are excluded by the rules", done.Waiting, done.Excluded)
	if done.HeldUp > 0 {
		words += "\n" + admin.Count(done.HeldUp, "URL") + " of these could not be requested recently, and wait until " +
			"robots.txt, proxy or log-in is available: sextant explain shows which"
	}
	return printResult(c, done, words)
}
