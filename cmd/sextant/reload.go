package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

func reloadCommand() *cli.Command {
	return &cli.Command{
		Name:  "reload",
		Usage: "make the running service read its configuration again",
		Description: "If changed rules delete more than a few documents, these deletions stay pending: see " +
			"sextant status. With --yes they are sent; sextant preview shows their number beforehand. Documents that " +
			"get other metas, or another source, are fetched when they are due; with --now, at once.",
		Flags: flags(yesToEdit(), renewNow()),
		Action: func(c *cli.Context) error {
			client, err := theService(c, "", "a changed configuration takes effect at its next start")
			if err != nil {
				return err
			}
			done, err := client.Reload(c.Context, admin.ReloadOptions{Yes: c.Bool("yes"), Now: c.Bool("now")})
			if err != nil {
				return declined(err)
			}
			word := "reloaded"
			if len(done.AfterRestart) > 0 {
				word += "; changed, and in force only after a restart: " + join(done.AfterRestart)
			}
			return saidDone(c, word)
		},
	}
}

// yesToEdit is the operator's word for what changed rules delete. No environment variable
// gives it: it would be said for ever.
func yesToEdit() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "let changed rules delete any number of documents"}
}

// renewNow says when documents are fetched that get other metas, or another source. No environment
// variable does: it would be said for ever.
func renewNow() cli.Flag {
	return &cli.BoolFlag{Name: "now", Usage: "fetch documents at once that get other metas, or another source, by rules or roots"}
}
