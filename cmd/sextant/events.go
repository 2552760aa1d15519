package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
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
	out := json.NewEncoder(c.App.Writer)
	out.SetEscapeHTML(false)
	for _, e := range slices.Backward(all) {
		if c.Bool("json") {
			if err := out.Encode(e); err != nil {
				return err
			}
			continue
		}
		line := clock.Local(e.At) + "  " + e.Kind
		for _, part := range []string{e.Host, clock.Localize(e.Text)} {
			if part != "" {
				line += ": " + part
			}
		}
		if e.Who != "" {
			line += " (" + e.Who + ")"
		}
		fmt.Fprintln(c.App.Writer, line)
	}
	return nil
}
