package main

import (
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:   "verify",
		Usage:  "check the whole store: every URL is in exactly one place",
		Flags:  flags(),
		Action: verify,
	}
}

func verify(c *cli.Context) error {
	faults := 0
	err := askEach(c, func(client *admin.Client) error {
		v, err := client.Verify(c.Context)
		if err != nil {
			return err
		}
		faults += len(v.Faults)
		if c.Bool("json") {
			return json.NewEncoder(c.App.Writer).Encode(v)
		}
		for _, f := range v.Faults {
			fmt.Fprintln(c.App.Writer, f)
		}
		name := v.Crawler
		if name != "" {
			name += ": "
		}
		fmt.Fprintf(c.App.Writer, "%s%s, %s\n", name, count(v.URLs, "URL"), count(len(v.Faults), "fault"))
		return nil
	})
	if err == nil && faults > 0 {
		return no(nil)
	}
	return err
}
