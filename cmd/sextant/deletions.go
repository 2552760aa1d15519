package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
		Usage:     "list resting and held deletions; release or drop them",
		ArgsUsage: "[release|drop URL...] (- reads them from stdin)",
		Description: "A deletion that rests is sent, held, or cancelled, depending on what its site answers; one that " +
			"is held waits for you. release sends deletions, and for a day also later ones of the same hosts " +
			"and reasons. drop discards them and fetches their URLs again.",
		Flags: flags(
			&cli.StringFlag{Name: "state", Usage: "only deletions that are `resting|held`"},
			&cli.StringFlag{Name: "host", Usage: "only deletions of this `HOST` name, or scheme://host:port"},
			&cli.StringFlag{Name: "reason", Usage: "only deletions with this `REASON`, such as not_found"},
			&cli.StringFlag{Name: "edit", Usage: "only deletions by edit `N` of the rules"},
			&cli.StringFlag{Name: "by", Usage: "count them by `host|reason|edit`, or by several, separated by commas"},
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
	decide := map[string]func(*admin.Client, context.Context, admin.DeletionQuery) (int, error){
		"release": (*admin.Client).Release, "drop": (*admin.Client).DropDeletions,
	}[what]
	n := 0
	err = ask(c, toDecide, func(client *admin.Client) error {
		n, err = decide(client, c.Context, query)
		return err
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = json.NewEncoder(c.App.Writer).Encode(admin.Decided{Deletions: n})
	} else {
		done := map[string]string{"release": "released", "drop": "dropped, their URLs are fetched again"}[what]
		_, err = fmt.Fprintf(c.App.Writer, "%s %s\n", count(n, "deletion"), done)
	}
	if err == nil && n == 0 && len(urls) > 0 {
		return no(fmt.Errorf("no deletion of %s rests or is held: sextant deletions lists those that do", urls[0]))
	}
	return err
}

// deletionQuery reads the flags that select deletions.
func deletionQuery(c *cli.Context) (q admin.DeletionQuery, err error) {
	q.State, q.Host, q.Reason = c.String("state"), c.String("host"), c.String("reason")
	if written := c.String("edit"); written != "" {
		if q.Edit, err = strconv.ParseUint(written, 10, 64); err != nil || q.Edit == 0 {
			return q, wrongUse("--edit %s is no number of an edit: sextant status names them", written)
		}
	}
	if err := q.Check(); err != nil {
		return q, wrongUse("--%w", err)
	}
	return q, nil
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
	return noneShown(c, shown, "no matching deletion rests or is held", err)
}

// printDeletion prints a deletion on a line; what is empty is a dash.
func printDeletion(w io.Writer, d *admin.Deletion) error {
	edit := "-"
	if d.Edit != 0 {
		edit = "edit " + strconv.FormatUint(d.Edit, 10)
	}
	_, err := fmt.Fprintf(w, "%-7s  %s  %-14s  %-9s  %-7s  %s  %s  %s\n", d.State, d.Since.Local().Format(time.DateTime),
		cmp.Or(d.Reason, "-"), cmp.Or(d.Hold, "-"), edit, d.Host, d.URL, cmp.Or(d.Text, "-"))
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
		return noneShown(c, 0, "no matching deletion rests or is held", nil)
	}
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "resting\theld\t%s\n", strings.Join(by, "\t"))
	for _, g := range counts.Items {
		fmt.Fprintf(table, "%d\t%d", g.Resting, g.Held)
		for _, name := range by {
			edit := "-"
			if g.Edit != 0 {
				edit = strconv.FormatUint(g.Edit, 10)
			}
			fmt.Fprintf(table, "\t%s", map[string]string{"host": g.Host, "reason": cmp.Or(g.Reason, "-"), "edit": edit}[name])
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}
