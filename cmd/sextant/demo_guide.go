package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/demo/site"
)

// endless is a service that runs until it is stopped.
var endless = crawl.Once{}

const (
	// demoDeadline bounds each part of the demo at the pace of --once; with a slower pace it is longer in proportion.
	demoDeadline = time.Minute
	demoPoll     = 20 * time.Millisecond
)

// guide describes the demo to its viewer, and suggests what to try.
type guide struct {
	*demo
	out      io.Writer
	terminal io.Writer // for the progress line; nil: none
	once     bool
}

func newGuide(d *demo, c *cli.Context) *guide {
	g := &guide{demo: d, out: c.App.Writer, once: c.Bool("once")}
	if f, ok := c.App.ErrWriter.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		g.terminal = f
	}
	return g
}

// show crawls the sites, changes them, crawls what may have changed, and makes suggestions.
func (g *guide) show(ctx context.Context, link string) error {
	if !g.once {
		fmt.Fprintf(g.out, "The console is open. This link signs you in, once:\n\n    %s\n\n", link)
	}
	fmt.Fprintf(g.out, "Crawling three sites on this machine, with %s between two requests to a site:\n", g.pace)
	for i, what := range []string{"a maker of tide gauges", "its library, with broken links, redirects, errors and a PDF", "the harbour office, on a slow machine"} {
		fmt.Fprintf(g.out, "    %s/  %s\n", address(g.sites[i]), what)
	}
	begin := time.Now()
	status, err := g.wait(ctx, func(s admin.Status) bool { return s.Known > 0 })
	if err != nil {
		return err
	}
	fmt.Fprintf(g.out, "%d pages so far. A night passes: the library loses four manuals, the harbour office writes a notice.\n", status.Totals.Pages)
	if err := g.change(ctx); err != nil {
		return err
	}
	if status, err = g.wait(ctx, func(s admin.Status) bool { return s.Outbox.Pending >= 4 && s.Outbox.Dead > 0 }); err != nil {
		return err
	}
	fmt.Fprintf(g.out, "%d pages crawled, %d documents indexed, %d excluded or failed, in %.1f s\n",
		status.Totals.Pages, status.Indexed, status.ByClass["ignored"]+status.ByClass["permanent"], time.Since(begin).Seconds())
	if err := g.compare(status); err != nil || g.once {
		return err
	}
	return g.suggest(link)
}

// change changes the sites, and makes the crawl visit them again.
func (g *guide) change(ctx context.Context) error {
	g.world.Change()
	for _, group := range []string{"library", "harbour"} {
		if _, err := g.service.Crawlers()[0].Refresh(ctx, crawl.Selection{Group: group}); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the index with the store: it lacks what the indexer refused.
func (g *guide) compare(status admin.Status) error {
	n, err := g.server.Count()
	if err != nil {
		return err
	}
	if want := status.Indexed - status.Outbox.Dead; uint64(n) != want {
		return fmt.Errorf("the indexer has %d documents instead of %d", n, want)
	}
	return nil
}

// wait waits until nothing is left to crawl or to push, and more returns true.
func (g *guide) wait(ctx context.Context, more func(admin.Status) bool) (admin.Status, error) {
	late := time.NewTimer(demoDeadline + 200*g.pace)
	defer late.Stop()
	tick := time.NewTicker(demoPoll)
	defer tick.Stop()
	if g.terminal != nil {
		defer fmt.Fprint(g.terminal, "\r\x1b[K")
	}
	for {
		status, err := g.service.Crawlers()[0].Status(ctx)
		if err != nil {
			return status, err
		}
		waiting := status.Outbox.Waiting
		for _, n := range status.Pending {
			waiting += n
		}
		if waiting == 0 && status.InFlight == 0 && more(status) {
			return status, nil
		}
		if g.terminal != nil {
			fmt.Fprintf(g.terminal, "\r\x1b[K%s", g.service.Progress(ctx))
		}
		select {
		case <-ctx.Done():
			return status, ctx.Err()
		case <-late.C:
			return status, fmt.Errorf("the sample sites are not crawled in time: %d URLs and orders wait, %d deletions are pending, %d dead letters", waiting, status.Outbox.Pending, status.Outbox.Dead)
		case <-tick.C:
		}
	}
}

// suggest prints what to look at, as working commands.
func (g *guide) suggest(link string) error {
	at, _, _ := strings.Cut(link, "signin?")
	data := " -d " + shellWord(g.data())
	return texts(g.out, unpainted)("demo", map[string]string{
		"Console": at, "Search": address(g.indexer) + "/?" + url.Values{"q": {site.SampleQuery}}.Encode(),
		"Sextant": ownCommand(), "Data": data, "Config": " -c " + shellWord(filepath.Join(g.data(), "config")) + data,
		"Site": address(g.sites[0]), "Library": address(g.sites[1]),
		"Out": filepath.Join(g.data(), "out"), "Token": admin.TokenPath(g.data(), admin.Operator),
	})
}

// ownCommand returns how this program was started: by go run, by a path, or by its name.
func ownCommand() string {
	program, err := os.Executable()
	if err != nil {
		program = ""
	}
	return commandOf(program, os.Args[0])
}

// commandOf returns the command of a program that was started by a name. Programs built by go run are in a folder
// go-build, of the cache or for temporary files.
func commandOf(program, name string) string {
	if strings.Contains(filepath.ToSlash(program), "/go-build") {
		return "go run ./cmd/sextant"
	}
	return shellWord(name)
}

// shellWord quotes a word for the shell if needed.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._/:=@%+,", r)
	}
	if s != "" && strings.Trim(s, "-") != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return manual.Quoted(s)
}
