package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/push/wire"
)

func pushVerify(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() != "verify" {
		return wrongUse("push: write push verify, followed by options only")
	}
	o := compare.Options{Target: c.String("target"), Repair: c.Bool("repair"), DeleteForeign: c.Bool("delete-foreign"), Samples: c.Int("samples")}
	of := toCompare
	if o.Repair || o.DeleteForeign {
		of = toSelect
	}
	report := &compare.Report{}
	err := ask(c, of, func(client *admin.Client) error { return client.Post(c.Context, "/push/verify", nil, o, report) })
	if errors.Is(err, admin.ErrDeclined) {
		err = wrongUse("%w", err) // exit code 1 would mean a difference
	}
	if err != nil {
		return err
	}
	return printPushReport(c, report)
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
