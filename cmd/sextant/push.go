package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

func pushCommand() *cli.Command {
	return &cli.Command{
		Name:      "push",
		Usage:     "compare what was pushed with what the index of a papi target holds (push verify)",
		ArgsUsage: "verify",
		Description: "Lists documents that the index lacks, and foreign ones that the crawl does not know. The exit code is 1 " +
			"if there are any. --repair fetches and pushes missing documents again. " +
			"--delete-foreign deletes foreign ones, including those that others have pushed to the connector.",
		Flags: flags(
			&cli.StringFlag{Name: "target", Usage: "the Push with this `NAME`, if there are several of kind papi"},
			&cli.BoolFlag{Name: "repair", Usage: "fetch documents that the index lacks again, and push them"},
			&cli.BoolFlag{Name: "delete-foreign", Usage: "delete documents from the index that this crawl does not know as pushed"},
			&cli.IntFlag{Name: "samples", Value: 10, Usage: "print up to `N` URLs of each kind"},
		),
		Action: pushVerify,
	}
}

func pushVerify(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() != "verify" {
		return wrongUse("push: write push verify, followed by options only")
	}
	crawler, _, err := oneCrawler(c)
	if err != nil {
		return err
	}
	target, err := service.PAPIPush(crawler, c.String("target"))
	if err != nil {
		return wrongUse("%w", err)
	}
	index, err := service.OpenIndex(target)
	if err != nil {
		return err
	}
	defer index.Close()
	report, err := compare.Verify(c.Context, index, commandPushed{c}, compare.Options{
		Repair: c.Bool("repair"), DeleteForeign: c.Bool("delete-foreign"), Samples: c.Int("samples"),
	})
	if err != nil {
		return err
	}
	return printPushReport(c, report)
}

// commandPushed is what a crawl has pushed, as its service or its store says.
type commandPushed struct{ c *cli.Context }

// Stored implements compare.Pushed.
func (p commandPushed) Stored(ctx context.Context, fn func(report.StoredURL) error) error {
	return ask(p.c, toRead, func(client *admin.Client) error { return client.Stored(ctx, nil, fn) })
}

// Still implements compare.Pushed.
func (p commandPushed) Still(ctx context.Context) error {
	return ask(p.c, toRead, func(client *admin.Client) error {
		statuses, err := client.Status(ctx)
		for _, s := range statuses {
			if s.Idle != admin.NotRunning && (!s.Paused || s.Outbox.Waiting > 0) {
				return wrongUse("%w", admin.StillMoving(s.Outbox.Waiting))
			}
		}
		return err
	})
}

// Waiting implements compare.Pushed. A running service goes on filling and emptying its
// outbox: then it tells the operator.
func (p commandPushed) Waiting(ctx context.Context, target string) (map[string]bool, error) {
	waiting := map[string]bool{}
	err := ask(p.c, toRead, func(client *admin.Client) error {
		statuses, err := client.Status(ctx)
		if err != nil {
			return err
		}
		for _, s := range statuses {
			if n := s.Outbox.Waiting; n > 0 && s.Idle != admin.NotRunning {
				fmt.Fprintf(p.c.App.ErrWriter, "%s wait in the outbox, and may be named as differences: pause the crawl, and ask again when the outbox is empty\n", count(int(n), "order")) //nolint:gosec // it fits
			}
			if _, behind := s.OutboxLag.Behind[target]; !behind || s.Idle != admin.NotRunning {
				return nil // nothing waits for a target that has everything, or that no crawl has opened yet
			}
		}
		return client.Orders(ctx, push.Selection{State: push.Waiting, Target: target}, func(o admin.OutboxOrder) error {
			waiting[o.URL] = true
			return nil
		})
	})
	return waiting, err
}

// Requeue implements compare.Pushed.
func (p commandPushed) Requeue(ctx context.Context, urls []string) (n int, err error) {
	err = ask(p.c, toSelect, func(client *admin.Client) error {
		done, err := client.Refresh(ctx, admin.Selection{URLs: urls, Full: true})
		n = done.URLs + done.Waiting
		return err
	})
	return n, err
}

func printPushReport(c *cli.Context, r *compare.Report) error {
	out := c.App.Writer
	for _, words := range r.Refused {
		fmt.Fprintln(c.App.ErrWriter, words)
	}
	if c.Bool("json") {
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "%s: %s pushed, %s in the index\n", r.Target, count(int(r.Stored), "document"), count(int(r.Indexed), "document")) //nolint:gosec // they fit
		for _, d := range []struct {
			compare.Difference
			word, done string
			n          int
		}{{r.Missing, "missing", "queued to be fetched again", r.Requeued}, {r.Foreign, "foreign", "deleted", r.Deleted}} {
			fmt.Fprintf(out, "%s: %d", d.word, d.Count)
			if d.n > 0 {
				fmt.Fprintf(out, ", %d %s", d.n, d.done)
			}
			fmt.Fprintln(out)
			for _, u := range d.Samples {
				fmt.Fprintln(out, "  "+wire.Plain(u))
			}
		}
	}
	if r.Missing.Count+r.Foreign.Count > 0 {
		return no(nil)
	}
	return nil
}
