package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/compare"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func pushCommand() *cli.Command {
	return &cli.Command{
		Name:      "push",
		Usage:     "compare what was pushed with what the index of a papi target holds: push verify",
		ArgsUsage: "verify",
		Description: "It lists what the index lacks, and what it holds beyond: foreign documents. Exit code 1\n" +
			"says that there are such. --repair fetches what is missing again, and pushes it.\n" +
			"--delete-foreign deletes what else the connector holds: also what others have pushed to it.",
		Flags: flags(
			&cli.StringFlag{Name: "target", EnvVars: env("target"), Usage: "the Push of this `NAME`, where there are several of kind papi"},
			&cli.BoolFlag{Name: "repair", EnvVars: env("repair"), Usage: "fetch documents that the index lacks again, and push them"},
			&cli.BoolFlag{Name: "delete-foreign", EnvVars: env("delete-foreign"), Usage: "delete documents from the index that this crawl does not know as pushed"},
			&cli.IntFlag{Name: "samples", Value: 10, EnvVars: env("samples"), Usage: "print up to `N` URLs of each kind"},
		),
		Action: pushVerify,
	}
}

// pushReport is what push verify found; the names are a contract.
type pushReport struct {
	Target   string     `json:"target"`
	Stored   uint64     `json:"stored"`  // documents that the crawl knows as pushed
	Indexed  uint64     `json:"indexed"` // documents of the connector
	Missing  difference `json:"missing"`
	Foreign  difference `json:"foreign"`
	Requeued int        `json:"requeued"` // of the missing, with --repair
	Deleted  int        `json:"deleted"`  // of the foreign, with --delete-foreign
}

type difference struct {
	Count   uint64   `json:"count"`
	Samples []string `json:"samples"`
}

func pushVerify(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() != "verify" {
		return wrongUse("push: write push verify, and nothing behind it but flags")
	}
	crawler, h, err := oneCrawler(c)
	if err != nil {
		return err
	}
	p, err := papiPushOf(crawler, c.String("target"))
	if err != nil {
		return err
	}
	target, err := papiTarget(p)
	if err != nil {
		return err
	}
	defer target.Close()
	v := &verification{c: c, home: h, push: p, target: target, report: pushReport{Target: p.Name}}
	defer v.close()
	if err := v.compare(); err != nil {
		return err
	}
	if err := v.mend(); err != nil {
		return err
	}
	return v.print()
}

// papiPushOf is the target that the command means.
func papiPushOf(crawler config.Crawler, name string) (config.Push, error) {
	var found []config.Push
	var names []string
	for _, p := range crawler.Push {
		if p.PAPI == nil {
			continue
		}
		names = append(names, p.Name)
		if name == "" || p.Name == name {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return config.Push{}, wrongUse("the Crawler %q has no <Push kind=\"papi\">: only the Push API can list what an index holds", crawler.Name)
	case name != "":
		return config.Push{}, wrongUse("no papi target is named %q: write --target with one of %s", name, join(names))
	}
	return config.Push{}, wrongUse("there are several papi targets: name one with --target (%s)", join(names))
}

// verification compares a store and an index.
type verification struct {
	c      *cli.Context
	home   home
	push   config.Push
	target *papi.Target
	report pushReport
	// waiting are URLs whose newest order the target has not safely yet.
	waiting          map[string]bool
	missing, foreign spool
}

func (v *verification) close() {
	v.missing.close()
	v.foreign.close()
}

func (v *verification) compare() error {
	if err := v.readWaiting(); err != nil {
		return err
	}
	skip := func(fn func(string) error) func(string) error {
		return func(url string) error {
			if v.waiting[url] {
				return nil
			}
			return fn(url)
		}
	}
	stored := func(fn func(string) error) error { return v.stored(skip(fn)) }
	indexed := func(fn func(string) error) error {
		fn = skip(fn)
		return v.target.Enumerate(v.c.Context, "", func(uri, _ string) error { return fn(uri) })
	}
	counts, err := compare.Run(stored, indexed, 0, v.note(&v.report.Missing, &v.missing), v.note(&v.report.Foreign, &v.foreign))
	v.report.Stored, v.report.Indexed = counts.Stored, counts.Indexed
	return err
}

// note counts a difference, and keeps it for mend.
func (v *verification) note(d *difference, s *spool) func(string) error {
	d.Samples = []string{}
	return func(url string) error {
		d.Count++
		if len(d.Samples) < v.c.Int("samples") {
			d.Samples = append(d.Samples, url)
		}
		return s.add(url)
	}
}

// stored calls fn for each URL that the target is to have.
func (v *verification) stored(fn func(string) error) error {
	pick := func(s crawl.StoredURL) error {
		if !s.Indexed || v.push.Source != "" && s.Source != v.push.Source {
			return nil
		}
		return fn(s.URL)
	}
	return fromServiceOrStore(v.c,
		func(service *admin.Client) error { return service.Stored(v.c.Context, url.Values{}, pick) },
		func(ctx context.Context, store *badgerstore.Store) error {
			return crawl.Stored(ctx, store, crawl.Filter{}, pick)
		})
}

// readWaiting finds what waits in the outbox. A running service goes on filling and
// emptying it; there the operator is told.
func (v *verification) readWaiting() error {
	v.waiting = map[string]bool{}
	return fromServiceOrStore(v.c,
		func(service *admin.Client) error {
			statuses, err := service.Status(v.c.Context)
			if err != nil {
				return err
			}
			for _, s := range statuses {
				if v.c.Bool("delete-foreign") && (!s.Paused || s.Outbox.Waiting > 0) {
					return wrongUse("--delete-foreign could delete what is pushed meanwhile: pause the crawl and wait until its outbox is empty (%d wait), or stop the service", s.Outbox.Waiting)
				}
				if n := s.Outbox.Waiting; n > 0 {
					fmt.Fprintf(v.c.App.ErrWriter, "%s wait in the outbox, and may be named as differences: pause the crawl, and ask again when the outbox is empty\n", count(int(n), "order")) //nolint:gosec // it fits
				}
			}
			return nil
		},
		func(ctx context.Context, store *badgerstore.Store) error {
			figures, err := store.OutboxFigures(ctx)
			if _, opened := figures.Behind[v.push.Name]; err != nil || !opened {
				return err // nothing waits for a target that no crawl has opened yet
			}
			return store.Orders(ctx, push.Selection{State: push.Waiting, Target: v.push.Name}, func(l push.Listed) error {
				v.waiting[l.URL] = true
				return nil
			})
		})
}

// mend queues what is missing and deletes what is foreign, as far as it is asked to.
func (v *verification) mend() error {
	if v.c.Bool("repair") {
		err := v.missing.each(500, func(urls []string) error {
			present, err := v.target.Present(v.c.Context, urls)
			if err != nil {
				return err
			}
			var lacking []string
			for _, u := range urls {
				if !present[u] { // else it came since
					lacking = append(lacking, u)
				}
			}
			return v.requeue(lacking)
		})
		if err != nil {
			return err
		}
	}
	if v.c.Bool("delete-foreign") {
		return v.foreign.each(100, v.delete)
	}
	return nil
}

// requeue sends URLs to a full fetch.
func (v *verification) requeue(urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	done, err := bySelection(v.c, admin.Selection{URLs: urls, Full: true}, (*admin.Client).Refresh,
		func(ctx context.Context, s crawl.Settings, store *badgerstore.Store, selected crawl.Selection, log *slog.Logger) (crawl.Refreshed, error) {
			return crawl.RefreshStored(ctx, s, store, selected, log)
		})
	v.report.Requeued += done.URLs + done.Waiting
	return err
}

// delete takes foreign documents out of the index.
func (v *verification) delete(urls []string) error {
	entries := make([]push.Entry, len(urls))
	for i, u := range urls {
		entries[i] = push.Entry{Seq: uint64(i + 1), Op: push.Delete, URL: u} //nolint:gosec // not negative
	}
	refused, err := v.target.Push(v.c.Context, entries)
	if err != nil {
		return err
	}
	for _, r := range refused {
		fmt.Fprintf(v.c.App.ErrWriter, "%s: the indexer does not delete it: %s\n", urls[r.Seq-1], r.Words)
	}
	v.report.Deleted += len(urls) - len(refused)
	return v.target.Sync(v.c.Context)
}

func (v *verification) print() error {
	r, out := v.report, v.c.App.Writer
	if v.c.Bool("json") {
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "%s: %s pushed, %s in the index\n", r.Target, count(int(r.Stored), "document"), count(int(r.Indexed), "document")) //nolint:gosec // they fit
		for _, d := range []struct {
			difference
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
