package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
)

func consoleCommand() *cli.Command {
	return &cli.Command{
		Name:  "console",
		Usage: "print the address of the console, and how to sign in",
		Description: "The console shows and controls the crawl in a browser. It listens at the address of run --listen, and " +
			"asks for the operator's or the readers' token. This command prints the path of the token's file, not the token.",
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
			return say(c, at, at.URL+"\nsign in with the operator's token: cat "+manual.Quoted(at.TokenFile))
		},
	}
}
