package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "print counts: of the running service, else of the store",
		Flags: flags(),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return wrongUse("status takes no arguments, found %q", c.Args().First())
			}
			all, err := statuses(c)
			if err != nil {
				return err
			}
			for i, s := range all {
				if c.Bool("json") {
					if err := json.NewEncoder(c.App.Writer).Encode(s); err != nil {
						return err
					}
					continue
				}
				if i > 0 {
					fmt.Fprintln(c.App.Writer)
				}
				printStatus(c.App.Writer, s)
			}
			return nil
		},
	}
}

// statuses asks the service, or reads the stores where none runs.
func statuses(c *cli.Context) ([]crawl.Status, error) {
	log, err := newLogger(c)
	if err != nil {
		return nil, err
	}
	data, crawler := c.String("data"), c.String("crawler")
	if service, ok := admin.Dial(c.Context, data, crawler); ok {
		return service.Status(c.Context)
	}
	homes, err := homesIn(data, crawler)
	if err != nil {
		return nil, err
	}
	var all []crawl.Status
	for _, h := range homes {
		err := readStore(c.Context, h, log, func(ctx context.Context, store *badgerstore.Store) error {
			s, err := crawl.StoredStatus(ctx, h.crawler, store)
			s.Idle = "not running"
			all = append(all, s)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// printStatus writes what a person wants to see of a Crawler.
func printStatus(w io.Writer, s crawl.Status) {
	if s.Crawler != "" {
		fmt.Fprintf(w, "Crawler %s\n", s.Crawler)
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s"+format+"\n", append([]any{name}, args...)...)
	}
	row("known", "%d URLs on %d hosts, %d documents indexed", s.Known, s.Hosts.Known, s.Indexed)
	row("outcomes", "%d ok, %d redirect, %d ignored, %d temporary, %d permanent, %d pending",
		s.ByClass["ok"], s.ByClass["redirect"], s.ByClass["ignored"], s.ByClass["temporary"], s.ByClass["permanent"], s.ByClass["pending"])
	var waiting string
	for source := scheduler.User; source < scheduler.Sources; source++ {
		waiting += fmt.Sprintf("%s %d  ", source, s.Pending[source.String()])
	}
	row("waiting", "%s(later: %d)", waiting, s.Timed)
	row("outbox", "%d waiting, %d held, %d dead", s.Outbox.Waiting, s.Outbox.Held, s.Outbox.Dead)
	if s.Idle == "not running" {
		row("service", "not running")
		return
	}
	row("in flight", "%d URLs; hosts with work %d, of them closed %d", s.InFlight, s.Hosts.WithWork, s.Hosts.Closed)
	row("pace", "%.1f requests/s, %.1f pages/s, %.0f KiB/s", s.Rates.RequestsPerS, s.Rates.PagesPerS, s.Rates.BytesPerS/1024)
	if s.ConfigError != "" {
		row("config", "not reloaded, the old one is in force: %s", s.ConfigError)
	}
	if r := s.Rules; r != nil && r.Running {
		row("rules", "changed: %d of %d stored URLs judged again, %d excluded, %d readmitted", r.Judged, r.Known, r.Excluded+r.Elsewhere, r.Readmitted)
	}
	if s.Idle != "" {
		row("idle", "%s", s.Idle)
	}
	if s.Brake != nil && s.Brake.Held > 0 {
		row("brake", "holds deletions: too many within its window")
	}
	for _, t := range s.Targets {
		row("target", "%s", t)
	}
}
