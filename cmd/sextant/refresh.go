package main

import (
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
	return showText(c, "refreshed", done)
}
