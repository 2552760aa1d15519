package main

import (
	"fmt"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/urfave/cli/v2"
)

func pause(c *cli.Context) error {
	client, err := theService(c, c.String("crawler"), "start it with sextant run, then pause")
	if err != nil {
		return err
	}
	if err := client.Post(c.Context, "/pause", nil, nil, new(struct{})); err != nil {
		return err
	}
	return printDone(c, "paused")
}

// resume ends a pause. Without a service it ends the pause that a previous service stored, so that run --once can end.
func resume(c *cli.Context) error {
	if err := ask(c, toChange, func(client *admin.Client) error { return client.Post(c.Context, "/resume", nil, nil, new(struct{})) }); err != nil {
		return err
	}
	return printDone(c, "resumed")
}

func reload(c *cli.Context) error {
	client, err := theService(c, "", "a changed configuration takes effect at its next start")
	if err != nil {
		return err
	}
	var done admin.Reloaded
	word := admin.Query("yes", fmt.Sprint(c.Bool("yes")), "now", fmt.Sprint(c.Bool("now")))
	if err := client.Post(c.Context, "/reload", word, nil, &done); err != nil {
		return declined(err)
	}
	said := "reloaded"
	if len(done.AfterRestart) > 0 {
		said += "; changed, but takes effect only after a restart: " + join(done.AfterRestart)
	}
	return printDone(c, said)
}

// yesToEdit is the operator's approval of deletions by changed rules. It has no environment variable, which would
// approve every later change.
func yesToEdit() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "let changed rules delete any number of documents"}
}

// renewNow sets when documents with other metas or another source are fetched. It has no environment variable, which
// would apply to every later change.
func renewNow() cli.Flag {
	return &cli.BoolFlag{Name: "now", Usage: "fetch documents at once that get other metas, or another source, from rules or roots"}
}

// ready is the health check of containers: without a running service it fails, whatever the state of the store.
func ready(c *cli.Context) error {
	client, err := theService(c, "", "start it with sextant run")
	if err != nil {
		return no(err)
	}
	if err := client.Ready(c.Context); err != nil {
		return no(err)
	}
	return printDone(c, "ready")
}

func console(c *cli.Context) error {
	client, err := theService(c, "", "start it with sextant run, then console")
	if err != nil {
		return err
	}
	var at admin.ConsoleAddress
	if err := client.Get(c.Context, "/console", nil, &at); err != nil {
		return err
	}
	return printResult(c, at, at.URL+"\nsign in with the operator's token: cat "+manual.Quoted(at.TokenFile))
}
