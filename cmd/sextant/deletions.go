package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
)

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
		return list(c, withSettings(toRead), noDeletion, line[admin.Deletion](c, "deletion"), "/deletions", query.Values())
	case c.IsSet("by"):
		return wrongUse("deletions %s --by: --by only counts; remove it", what)
	}
	query.URLs, query.All = urls, c.Bool("all")
	if some := len(urls) > 0 || query.Host != "" || query.Reason != "" || query.Edit != 0; some == query.All {
		return wrongUse("deletions %s: name URLs, or write --host, --reason, --edit or --all", what)
	}
	if what == "release" {
		if err := askRelease(c, &query); err != nil {
			return err
		}
	}
	return decideDeletions(c, what, query)
}

// decideDeletions releases or drops the selected deletions.
func decideDeletions(c *cli.Context, do string, q admin.DeletionQuery) error {
	var done admin.Decided
	err := ask(c, withSettings(toChange), func(client *admin.Client) (err error) {
		done, err = client.DecideDeletions(c.Context, do, q)
		return err
	})
	none, words := done.Deletions+done.OfEdits == 0 && (do == "drop" || q.Edit == 0), done.Words()+" released"
	if do == "drop" {
		words = strings.TrimSpace(done.Words() + " dropped; their URLs are fetched again\n" + done.Stay())
	}
	switch {
	case err != nil:
		return err
	case c.Bool("json") || !none && (do == "release" || done.Deletions > 0):
		err = printResult(c, &done, words)
	case !none:
		return no(errors.New(done.Stay()))
	}
	switch {
	case err != nil || !none:
		return err
	case len(q.URLs) > 0:
		return no(fmt.Errorf("no deletion of %s is pending: sextant deletions lists the pending ones", q.URLs[0]))
	}
	return no(errors.New("no matching deletion is pending: nothing was done"))
}

// askRelease asks for confirmation of many deletions, on a terminal; elsewhere --yes confirms. It limits q to the
// counted deletions, without later ones.
func askRelease(c *cli.Context, q *admin.DeletionQuery) error {
	n := len(q.URLs)
	what := "carries out " + admin.Count(n, "deletion")
	if n == 0 {
		err := ask(c, withSettings(toRead), func(client *admin.Client) error {
			var counts admin.DeletionCounts
			if err := client.Get(c.Context, "/deletions/counts", q.Values(), &counts); err != nil {
				return err
			}
			n, q.UpTo = int(counts.Pending), counts.UpTo //nolint:gosec // no count is so large
			what = "carries out " + counts.Words()
			if ill := counts.OfIllHosts; ill > 0 {
				fmt.Fprintf(c.App.ErrWriter, "%d of %d are of ill hosts: check whether their pages are really gone\n", ill, n)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if c.Bool("yes") || n <= admin.ReleasedUnasked {
		return nil
	}
	return confirm(c, "deletions release", what, "nothing was released")
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

// noDeletion is the message for an empty list of deletions.
const noDeletion = "no matching deletion is pending"

// countDeletions prints the numbers, the largest groups first.
func countDeletions(c *cli.Context, q admin.DeletionQuery) error {
	by := strings.Split(c.String("by"), ",")
	if err := admin.CheckGroupings(by); err != nil {
		return wrongUse("--%w", err)
	}
	query := q.Values()
	query.Set("by", c.String("by"))
	var counts admin.DeletionCounts
	err := ask(c, withSettings(toRead), func(client *admin.Client) error {
		return client.Get(c.Context, "/deletions/counts", query, &counts)
	})
	if err == nil && len(counts.Items) == 0 && !c.Bool("json") {
		fmt.Fprintln(c.App.ErrWriter, noDeletion)
	}
	if c.Bool("json") {
		for _, g := range counts.Items {
			err = errors.Join(err, jsonTo(c.App.Writer).Encode(g))
		}
		return err
	}
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	return errors.Join(err, texts(table, unpainted)("deletion counts", map[string]any{"By": by, "Items": counts.Items}), table.Flush())
}
