package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

func pauseCommand() *cli.Command {
	return &cli.Command{
		Name:  "pause",
		Usage: "stop fetching until resume, even across restarts; the outbox is still pushed",
		Flags: flags(),
		Action: func(c *cli.Context) error {
			client, err := theService(c, c.String("crawler"), "start it with sextant run, then pause")
			if err != nil {
				return err
			}
			if err := client.Pause(c.Context); err != nil {
				return err
			}
			return saidDone(c, "paused")
		},
	}
}

func resumeCommand() *cli.Command {
	return &cli.Command{
		Name:  "resume",
		Usage: "continue after pause",
		Flags: flags(),
		Action: func(c *cli.Context) error {
			// Without a service it ends a pause that one left behind, for a run that is to end by itself.
			if err := ask(c, toChange, func(client *admin.Client) error { return client.Resume(c.Context) }); err != nil {
				return err
			}
			return saidDone(c, "resumed")
		},
	}
}
