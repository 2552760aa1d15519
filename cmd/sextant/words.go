package main

import (
	"fmt"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/sextant-crawler/sextant/crawl/copies"
)

// colour is what a word means, for a terminal.
type colour string

const (
	good     colour = "\x1b[32m"
	doubtful colour = "\x1b[33m"
	bad      colour = "\x1b[31m"
)

// paint colours words, or leaves them as they are.
type paint func(colour, string) string

func unpainted(_ colour, words string) string { return words }

func painted(c colour, words string) string { return string(c) + words + "\x1b[0m" }

// painter is for what a command prints: colours are for people at a terminal who have not
// set NO_COLOR (no-color.org).
func painter(c *cli.Context) paint {
	w := c.App.Writer
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.w
	}
	if f, ok := w.(*os.File); ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())) {
		return painted
	}
	return unpainted
}

// clock is a time as people read it: of the day here, to the second.
func clock(t time.Time) string { return t.Local().Truncate(time.Second).Format(time.DateTime) }

// comma words a large number, as in 1,188.
func comma[N int | int64 | uint64](n N) string {
	return humanize.Comma(int64(n)) //nolint:gosec // no count is so large
}

// duplicateWords tell of the detection of duplicates, in words.
func duplicateWords(d *copies.Status) string {
	words := fmt.Sprintf("%d documents are compared, %d copies of them are not indexed, %d were found since the start; %s",
		d.Documents, d.Copies, d.Found, size(d.Bytes))
	if d.Loading {
		words += "; not all are read yet"
	}
	return words
}
