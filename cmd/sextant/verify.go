package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

func verify(c *cli.Context) error {
	faults := 0
	err := askEach(c, func(client *admin.Client) error {
		var v admin.Verification
		if err := client.Get(c.Context, "/verify", nil, &v); err != nil {
			return err
		}
		faults += len(v.Faults)
		return showText(c, "verified", v)
	})
	if err == nil && faults > 0 {
		return no(nil)
	}
	return err
}
