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
	if err := service.WithKnownStore(c.Context, h, badgerstore.Options{Logger: log}, func(ctx context.Context, store service.Store) error {
		return crawl.ResumeStored(ctx, store)
	}); err != nil {
		return err
	}
	return saidDone(c, "resumed")
}

func reloadCommand() *cli.Command {
	return &cli.Command{
		Name:  "reload",
		Usage: "make the running service read its configuration again",
		Description: "If changed rules delete more than a few documents, these deletions are held: see " +
			"sextant status. With --yes they are sent; sextant preview shows their number beforehand.",
		Flags: flags(yesToEdit()),
		Action: func(c *cli.Context) error {
			client, err := theService(c, "", "a changed configuration takes effect at its next start")
			if err != nil {
				return err
			}
			if err := client.Reload(c.Context, c.Bool("yes")); err != nil {
				return asked(err)
			}
			return saidDone(c, "reloaded")
		},
	}
}

// yesToEdit is the operator's word for what changed rules delete. No environment variable
// gives it: it would be said for ever.
func yesToEdit() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "let changed rules delete any number of documents"}
}
