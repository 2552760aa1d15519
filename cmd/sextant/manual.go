package main

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
)

// helpInstead turns a command line with a help option into "help COMMAND": the library would take an argument beside
// the option for a command. args has the command first, then its flags.
func helpInstead(args []string) []string {
	if len(args) < 2 {
		return args
	}
	options := args[1:]
	if end := slices.Index(options, "--"); end >= 0 {
		options = options[:end]
	}
	asks := func(a string) bool { return a == "-h" || a == "--help" || a == "-help" }
	switch {
	case !slices.ContainsFunc(options, asks):
		return args
	case strings.HasPrefix(args[1], "-"):
		return []string{args[0], "help"}
	default:
		return []string{args[0], "help", args[1]}
	}
}

func printHelp(c *cli.Context) error {
	name := c.Args().First()
	text, ok := manual.Help(c.App, name)
	if !ok {
		return wrongUse("there is no command %q%s", name, didYouMean(c.App, name))
	}
	_, err := io.WriteString(c.App.Writer, text)
	return err
}

func printCompletion(c *cli.Context) error {
	if c.NArg() == 1 {
		if ok, err := manual.WriteCompletion(c.App.Writer, c.Args().First()); ok {
			return err
		}
	}
	return wrongUse("completion: write completion bash, zsh or fish")
}

func completeWords(c *cli.Context) error {
	return manual.WriteOffers(c.App.Writer, manual.Reference(c.App), c.Args().Slice())
}

func printManual(c *cli.Context) error {
	date, err := manualDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	return manual.WritePage(c.App.Writer, c.App, date)
}

// manualDate returns the date of a reproducible build, else today.
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
