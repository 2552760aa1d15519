package main

import (
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
)

func consoleCommand() *cli.Command {
	return &cli.Command{
		Name:  "console",
		Usage: "print the address of the console, and how to sign in",
		Description: "The console shows the crawl in a browser, and is where you act on it. It listens where --listen of run says, and\n" +
			"asks for the operator's token or the readers'. This command prints the path of the token, not the token.",
		Flags: flags(),
		Action: func(c *cli.Context) error {
			client, err := theService(c, "", "start it with sextant run, then console")
			if err != nil {
				return err
			}
			at, err := client.Console(c.Context)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return json.NewEncoder(c.App.Writer).Encode(at)
			}
			fmt.Fprintf(c.App.Writer, "%s\nsign in with the operator's token: cat %s\n", at.URL, manual.Quoted(at.TokenFile))
			return nil
		},
	}
}
