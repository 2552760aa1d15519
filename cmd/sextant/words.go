package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// colour is the meaning of a text, shown by its colour on a terminal.
type colour string

const (
	good     colour = "\x1b[32m"
	doubtful colour = "\x1b[33m"
	bad      colour = "\x1b[31m"
	bold     colour = "\x1b[1m"
)

// paint colours text, or returns it unchanged.
type paint func(colour, string) string

func unpainted(_ colour, words string) string { return words }

func painted(c colour, words string) string { return string(c) + words + "\x1b[0m" }

// painter returns the paint for a command's output: colours only on a terminal, without NO_COLOR (no-color.org).
func painter(c *cli.Context) paint {
	if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && onTerminal(c) {
		return painted
	}
	return unpainted
}

// onTerminal reports whether a command's output goes to a terminal.
func onTerminal(c *cli.Context) bool {
	w := c.App.Writer
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// comma formats a large number, as in 1,188.
func comma[N int | int64 | uint64](n N) string {
	return humanize.Comma(int64(n)) //nolint:gosec // no count is so large
}

// size formats a number of bytes, as in 9.9 MiB.
func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) } //nolint:gosec // not negative

func join(parts []string) string { return strings.Join(parts, ", ") }

// printDone prints that a command is done, in a word.
func printDone(c *cli.Context, word string) error {
	return printResult(c, map[string]string{"result": word}, word)
}

// printResult prints v as JSON, or words as text.
func printResult(c *cli.Context, v any, words string) error {
	return show(c, v, func() error {
		_, err := fmt.Fprintln(c.App.Writer, words)
		return err
	})
}
