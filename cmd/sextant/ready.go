package main

import (
	"github.com/urfave/cli/v2"
)

func readyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "ready", Usage: "only say whether a service runs and is ready; the exit code is 1 if not"}
}

// ready is the health check of containers: a service that does not run is not ready,
// whatever its store says.
func ready(c *cli.Context) error {
	client, err := theService(c, "", "start it with sextant run")
	if err != nil {
		return no(err)
	}
	if err := client.Ready(c.Context); err != nil {
		return no(err)
	}
	return saidDone(c, "ready")
}
