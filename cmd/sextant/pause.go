package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func pauseCommand() *cli.Command {
	return &cli.Command{
		Name:  "pause",
		Usage: "stop fetching until resume, even across restarts; the outbox is still pushed",
		Flags: flags(),
		Action: func(c *cli.Context) error {
			return toService(c, "paused", (*admin.Client).Pause)
		},
	}
}

func resumeCommand() *cli.Command {
	return &cli.Command{
		Name:  "resume",
		Usage: "continue after pause",
		Flags: flags(),
		Action: func(c *cli.Context) error {
			client, err := admin.Dial(c.Context, c.String("data"), c.String("crawler"))
			if err != nil {
				return err
			}
			if client == nil {
				return resumeStored(c)
			}
			return toService(c, "resumed", (*admin.Client).Resume)
		},
	}
}

// toService sends a command to the service, which must run.
func toService(c *cli.Context, done string, command func(*admin.Client, context.Context) error) error {
	client, err := theService(c, c.String("crawler"), "start it with sextant run, then "+c.Command.Name)
	if err != nil {
		return err
	}
	if err := command(client, c.Context); err != nil {
		return err
	}
	return saidDone(c, done)
}

// saidDone says that a command is done, in a word.
func saidDone(c *cli.Context, word string) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(map[string]string{"result": word})
	}
	_, err := fmt.Fprintln(c.App.Writer, word)
	return err
}

// resumeStored ends a pause that a service left behind, for a run that is to end by itself.
func resumeStored(c *cli.Context) error {
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	h, err := oneHome(c.String("data"), c.String("crawler"))
	if err != nil {
		return err
	}
	if err := service.WithKnownStore(c.Context, h, badgerstore.Options{Logger: log}, func(ctx context.Context, store *badgerstore.Store) error {
		return crawl.ResumeStored(ctx, store)
	}); err != nil {
		return err
	}
	return saidDone(c, "resumed")
}
