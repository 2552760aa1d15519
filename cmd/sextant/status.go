package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
)

func printStatuses(c *cli.Context) error {
	if c.Bool("ready") {
		return ready(c)
	}
	if c.Int("hosts") < 0 {
		return wrongUse("--hosts is 0 or more")
	}
	write := func(w io.Writer) error { return writeStatuses(c, w) }
	if !c.Bool("watch") {
		return write(c.App.Writer)
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt)
	defer stop()
	c.Context = ctx
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before := ""
	if onTerminal(c) {
		before = "\x1b[H\x1b[2J" // clears it
	}
	return watch(ctx, c.App.Writer, before, tick.C, write)
}

// watchEvery is the pause between two looks of status --watch.
const watchEvery = 2 * time.Second

// watch prints before, then what write writes, now and at each tick until ctx ends.
func watch(ctx context.Context, out io.Writer, before string, tick <-chan time.Time, write func(io.Writer) error) error {
	for {
		page := bytes.NewBufferString(before) // printed in one piece, or a terminal flickers
		err := write(page)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the user ended it
		}
		if err == nil {
			_, err = page.WriteTo(out)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

func writeStatuses(c *cli.Context, w io.Writer) error {
	all, err := statuses(c)
	if err != nil {
		return err
	}
	for i, s := range all {
		if c.Bool("json") {
			err = jsonTo(w).Encode(s)
		} else {
			err = printStatus(w, &s, painter(c))
		}
		if err != nil {
			return err
		}
		if i < len(all)-1 && !c.Bool("json") {
			fmt.Fprintln(w)
		}
	}
	return nil
}

// statuses returns the statuses of the command's Crawlers.
func statuses(c *cli.Context) (all []admin.Status, err error) {
	err = askEach(c, func(client *admin.Client) error {
		these, err := client.Status(c.Context)
		for i := range these {
			if n := c.Int("hosts"); err == nil && n > 0 {
				err = client.Get(c.Context, "/hosts", url.Values{"n": {strconv.Itoa(n)}}, &these[i].HostList)
			}
		}
		all = append(all, these...)
		return err
	})
	return all, err
}

// printStatus writes the status of a Crawler for people, with the stamps in its sentences as times of this zone.
func printStatus(w io.Writer, s *admin.Status, p paint) error {
	var b strings.Builder
	err := texts(&b, p)("status", s)
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, clock.Localize(strings.TrimSuffix(line, "\n")))
	}
	return err
}
