package main

import (
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
)

// helpCommand is there to be listed and completed: manual.Explained makes help of it.
func helpCommand() *cli.Command {
	return &cli.Command{Name: "help", Usage: "show what a command does, and its options", ArgsUsage: "[COMMAND]", Action: func(c *cli.Context) error {
		if name := c.Args().First(); name != "" && name != "help" {
			return wrongUse("there is no command %q%s", name, didYouMean(c.App, name))
		}
		return cli.ShowAppHelp(c)
	}}
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		ArgsUsage: "bash|zsh|fish",
		Description: "bash: source <(sextant completion bash)\n" +
			"zsh: sextant completion zsh > a file _sextant in a folder of $fpath\n" +
			"fish: sextant completion fish | source",
		Action: func(c *cli.Context) error {
			if c.NArg() == 1 {
				if ok, err := manual.WriteCompletion(c.App.Writer, c.Args().First(), manual.Reference(c.App)); ok {
					return err
				}
			}
			return wrongUse("completion: write completion bash, zsh or fish")
		},
	}
}

func manCommand() *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page sextant(1)",
		Description: "Its date is that of SOURCE_DATE_EPOCH (seconds since 1970), or today's.",
		Action: func(c *cli.Context) error {
			date, err := manualDate(os.Getenv("SOURCE_DATE_EPOCH"))
			if err != nil {
				return err
			}
			return manual.WritePage(c.App.Writer, c.App, date)
		},
	}
}

// manualDate is the date that a reproducible build wants, else today.
func manualDate(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, wrongUse("SOURCE_DATE_EPOCH %q: write seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
