package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/admin"
)

func listEvents(c *cli.Context) error {
	var all []events.Event
	err := ask(c, toRead, func(client *admin.Client) error {
		return admin.Each(c.Context, client, "/events", admin.Query("kind", c.String("kind")), func(e events.Event) error { all = append(all, e); return nil })
	})
	if err != nil {
		return err
	}
	if n := c.Int("limit"); n > 0 && n < len(all) {
		all = all[:n]
	}
	slices.Reverse(all)
	return showEach(c, "event", all)
}
