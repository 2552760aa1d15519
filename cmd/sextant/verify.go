package main

import (
	"fmt"
	"strings"

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
		name := v.Crawler
		if name != "" {
			name += ": "
		}
		sums := fmt.Sprintf("%s%s, %s", name, admin.Count(v.URLs, "URL"), admin.Count(len(v.Faults), "fault"))
		return printResult(c, v, strings.Join(append(v.Faults, sums), "\n"))
	})
	if err == nil && faults > 0 {
		return no(nil)
	}
	return err
}
