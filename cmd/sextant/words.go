package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// colour is a meaning of text, for a terminal.
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

// duplicateWords describes the detection of duplicates.
func duplicateWords(d *copies.Status) string {
	words := fmt.Sprintf("%s compared, %d copies of them not indexed, %d found since the start; %s",
		count(d.Documents, "document"), d.Copies, d.Found, size(d.Bytes))
	if d.Loading {
		words += "; not all are read yet"
	}
	return words
}

// renderWords describes rendering, and the browser.
func renderWords(s *admin.Status) string {
	r := s.Rendered
	if r == nil {
		r = new(meter.RenderedStatus)
	}
	words := fmt.Sprintf("%s by a browser, %d failed", count(r.Pages, "page"), r.Failed)
	if r.TimedOut > 0 {
		words += fmt.Sprintf(" (%d timed out)", r.TimedOut)
	}
	switch b := s.Browser; {
	case b == nil:
	case b.Trouble != "":
		words += "; no browser can be started: " + b.Trouble
	case b.Running+b.Rendering+b.Waiting == 0:
		words += "; no browser runs at present"
	default:
		words += fmt.Sprintf("; %d of %s at work, %s waiting", b.Running, count(b.Limit, "browser"), count(b.Waiting, "page"))
	}
	return words
}

// shellWords describes pages that only scripts fill.
func shellWords(s *meter.ShellsStatus) string {
	var hosts []string
	for _, h := range s.ByHost {
		hosts = append(hosts, fmt.Sprintf("%s (%d)", h.Host, h.Pages))
	}
	if s.Hosts > len(hosts) {
		hosts = append(hosts, "and "+count(s.Hosts-len(hosts), "more host"))
	}
	return fmt.Sprintf("%s that only scripts fill, with hardly any text: %s", count(s.Pages, "page"), join(hosts))
}

// fieldWords describes the fields.
func fieldWords(s *meter.FieldsStatus) string {
	var parts []string
	for _, f := range s.Fields {
		words := fmt.Sprintf("%s in %d of %s", f.Name, f.Pages-f.Empty, count(f.Pages, "page"))
		if f.Cut > 0 {
			words += fmt.Sprintf(" (cut in %d)", f.Cut)
		}
		parts = append(parts, words)
	}
	if m := s.Main; m != nil {
		parts = append(parts, fmt.Sprintf("main content in %d of %s", m.Pages-m.Empty, count(m.Pages, "page")))
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Failed)) {
		parts = append(parts, fmt.Sprintf("%s could not be searched (%s)", count(s.Failed[reason], "page"), reason))
	}
	return strings.Join(parts, ", ")
}

// documentWords describes the PDF and office documents.
func documentWords(s *meter.DocumentsStatus) string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s.Read)) {
		parts = append(parts, fmt.Sprintf("%d %s read", s.Read[kind], kind))
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Failed)) {
		for _, reason := range slices.Sorted(maps.Keys(s.Failed[kind])) {
			parts = append(parts, fmt.Sprintf("%d %s failed (%s)", s.Failed[kind][reason], kind, reason))
		}
	}
	return join(parts)
}

// count returns a number with its noun.
func count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return comma(n) + " " + thing + "s"
}

// size formats a number of bytes, as in 9.9 MiB.
func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) } //nolint:gosec // not negative

func join(parts []string) string { return strings.Join(parts, ", ") }

// saidDone prints that a command is done, in a word.
func saidDone(c *cli.Context, word string) error {
	return say(c, map[string]string{"result": word}, word)
}

// say prints v, for people as a line of text.
func say(c *cli.Context, v any, words string) error {
	return show(c, v, func() error {
		_, err := fmt.Fprintln(c.App.Writer, words)
		return err
	})
}
