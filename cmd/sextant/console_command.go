package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
)

func consoleCommand() *cli.Command {
	return &cli.Command{
		Name:  "console",
		Usage: "print the address of the running service's console, and how to sign in",
		Description: "The console shows and steers the crawl in a browser. It is where --listen of run says, and asks for the\n" +
			"operator's token, or the readers'. This command prints no token, but how to print it.",
		Flags: flags(),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return wrongUse("console takes no arguments, found %q", c.Args().First())
			}
			client, ok := admin.Dial(c.Context, c.String("data"), "")
			if !ok {
				return fmt.Errorf("no service runs on %s: start it with sextant run, then console", c.String("data"))
			}
			at, err := client.Console(c.Context)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.App.Writer, "%s\nsign in with the operator's token: cat %s\n", at.URL, quoted(at.TokenFile))
			return nil
		},
	}
}
