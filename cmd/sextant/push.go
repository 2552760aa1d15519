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
	o := compare.Options{Target: c.String("target"), Repair: c.Bool("repair"), DeleteForeign: c.Bool("delete-foreign"), Samples: c.Int("samples")}
	of := toCompare
	if o.Repair {
		of = toSelect
	}
	report, err := asked(c, of, (*admin.Client).PushVerify, o)
	if errors.Is(err, admin.ErrDeclined) {
		err = wrongUse("%w", err) // the exit code 1 would tell of a difference
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
