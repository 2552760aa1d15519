package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

func deletionsCommand() *cli.Command {
	return &cli.Command{
		Name:      "deletions",
		Usage:     "list pending deletions; release or drop them",
		ArgsUsage: "[release|drop URL...] (- reads them from stdin)",
		Description: "A pending deletion leaves when it is confirmed, or is cancelled by a good response: the more of a host's documents " +
			"are to go, the longer that takes. release carries out those that are pending now, at once; drop discards them and fetches " +
			"their URLs again.",
		Flags: flags(
			&cli.StringFlag{Name: "host", Usage: "only deletions of this `HOST` name, or scheme://host:port"},
			&cli.StringFlag{Name: "reason", Usage: "only deletions with this `REASON`, such as not_found"},
			&cli.StringFlag{Name: "edit", Usage: "only deletions by edit `N` of the rules"},
			&cli.StringFlag{Name: "by", Usage: "count them by `host|reason|class|edit`, or by several, separated by commas"},
			&cli.BoolFlag{Name: "all", Usage: "release or drop all of them"},
		),
		Action: deletions,
	}
}

func deletions(c *cli.Context) error {
	what, urls, err := decision(c, "release", "drop")
	if err != nil {
		return err
	}
	query, err := deletionQuery(c)
	if err != nil {
		return err
	}
	switch {
	case what == "" && c.Bool("all"):
		return wrongUse("deletions --all: write deletions release --all, or deletions drop --all")
	case what == "" && c.IsSet("by"):
		return countDeletions(c, query)
	case what == "":
		return listDeletions(c, query)
	case c.IsSet("by"):
		return wrongUse("deletions %s --by: --by counts, and decides nothing", what)
	}
	query.URLs, query.All = urls, c.Bool("all")
	if some := len(urls) > 0 || query.Host != "" || query.Reason != "" || query.Edit != 0; some == query.All {
		return wrongUse("deletions %s: name URLs, or write --host, --reason, --edit or --all", what)
	}
	done, by := "released", (*admin.Client).Release
	if what == "drop" {
		done, by = "dropped, their URLs are fetched again", (*admin.Client).DropDeletions
	}
	n, err := decide(c, toDecide, func(client *admin.Client) (int, error) {
		counts, err := client.DeletionCounts(c.Context, query, nil)
		if err != nil {
			return 0, err
		}
		if len(urls) == 0 { // what is counted, and nothing that is found later
			query.UpTo = counts.UpTo
			if n := counts.OfIllHosts; n > 0 && what == "release" {
				fmt.Fprintf(c.App.ErrWriter, "of hosts that are ill, so the documents may well be there: %s\n", count(int(n), "deletion")) //nolint:gosec // a count
			}
		}
		return by(client, c.Context, query)
	}, "deletion", done)
	if err == nil && n == 0 && len(urls) > 0 {
		return no(fmt.Errorf("no deletion of %s is pending: sextant deletions lists those that are", urls[0]))
	}
	return err
}

// deletionQuery reads the flags that select deletions.
func deletionQuery(c *cli.Context) (q admin.DeletionQuery, err error) {
	written := url.Values{}
	for _, name := range []string{"host", "reason", "edit"} {
		written.Set(name, c.String(name))
	}
	if q, err = admin.ParseDeletionQuery(written); err == nil {
		err = q.Check()
	}
	if err != nil {
		err = wrongUse("--%w", err)
	}
	return q, err
}

// listDeletions prints them, of the running service or of the store.
func listDeletions(c *cli.Context, q admin.DeletionQuery) error {
	out := json.NewEncoder(c.App.Writer)
	shown := 0
	show := func(d admin.Deletion) error {
		shown++
		return printDeletion(c.App.Writer, &d)
	}
	if c.Bool("json") {
		show = func(d admin.Deletion) error { return out.Encode(d) }
	}
	err := ask(c, toRead, func(client *admin.Client) error { return client.Deletions(c.Context, q, show) })
	return noneShown(c, shown, "no matching deletion is pending", err)
}

// printDeletion prints a deletion on a line; what is empty is a dash.
func printDeletion(w io.Writer, d *admin.Deletion) error {
	edit := "-"
	if d.Edit != 0 {
		edit = "edit " + strconv.FormatUint(d.Edit, 10)
	}
	reason := cmp.Or(d.Reason, "-")
	_, err := fmt.Fprintf(w, "%s  %-14s  %-4s  %-7s  %s  %s  %s; seen by %s, last %s; leaves: %s\n", d.Since.Local().Format(time.DateTime),
		reason, d.Class, edit, d.Host, d.URL, cmp.Or(d.Text, "-"), count(d.Visits, "visit"), d.LastSeen.Local().Format(time.DateTime), d.Waits())
	return err
}

// countDeletions prints how many there are, the largest groups first.
func countDeletions(c *cli.Context, q admin.DeletionQuery) error {
	by := strings.Split(c.String("by"), ",")
	if err := admin.CheckGroupings(by); err != nil {
		return wrongUse("--%w", err)
	}
	var counts *admin.DeletionCounts
	err := ask(c, toRead, func(client *admin.Client) (err error) {
		counts, err = client.DeletionCounts(c.Context, q, by)
		return err
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		out := json.NewEncoder(c.App.Writer)
		for i := range counts.Items {
			if err := out.Encode(&counts.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(counts.Items) == 0 {
		return noneShown(c, 0, "no matching deletion is pending", nil)
	}
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "pending\t%s\n", strings.Join(by, "\t"))
	for _, g := range counts.Items {
		fmt.Fprintf(table, "%d", g.Pending)
		for _, name := range by {
			edit := "-"
			if g.Edit != 0 {
				edit = strconv.FormatUint(g.Edit, 10)
			}
			fmt.Fprintf(table, "\t%s", map[string]string{"host": g.Host, "reason": cmp.Or(g.Reason, "-"), "class": g.Class, "edit": edit}[name])
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}
