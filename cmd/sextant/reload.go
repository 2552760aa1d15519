package main

import "github.com/urfave/cli/v2"

func reloadCommand() *cli.Command {
	return &cli.Command{
		Name:  "reload",
		Usage: "make the running service read its configuration again",
		Description: "If changed rules delete more than a few documents, these deletions stay pending: see " +
			"sextant status. With --yes they are sent; sextant preview shows their number beforehand.",
		Flags: flags(yesToEdit()),
		Action: func(c *cli.Context) error {
			client, err := theService(c, "", "a changed configuration takes effect at its next start")
			if err != nil {
				return err
			}
			if err := client.Reload(c.Context, c.Bool("yes")); err != nil {
				return declined(err)
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
