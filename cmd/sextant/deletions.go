package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func deletionsCommand() *cli.Command {
	return &cli.Command{
		Name:      "deletions",
		Usage:     "list the deletions that the brake holds; release or drop them",
		ArgsUsage: "[release|drop URL...] (- reads them from stdin)",
		Description: "release sends them to the indexers. drop forgets them and fetches their URLs again:\n" +
			"a page that is still gone then comes back here, or goes, as the brake decides.",
		Flags:  flags(&cli.BoolFlag{Name: "all", EnvVars: env("all"), Usage: "release or drop all of them"}),
		Action: deletions,
	}
}

func deletions(c *cli.Context) error {
	what, urls, err := decision(c, "release", "drop")
	if err != nil {
		return err
	}
	if what == "" {
		if c.Bool("all") {
			return wrongUse("deletions --all: write deletions release --all, or deletions drop --all")
		}
		return listHeld(c)
	}
	if c.Bool("all") == (len(urls) > 0) {
		return wrongUse("deletions %s: name URLs, or write --all", what)
	}
	n, err := decideHeld(c, what, urls)
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
		return no(fmt.Errorf("no deletion of %s is held: sextant deletions lists those that are", urls[0]))
	}
	return err
}

// listHeld prints what is held, of the running service or of the store.
func listHeld(c *cli.Context) error {
	out := json.NewEncoder(c.App.Writer)
	show := func(d admin.HeldDeletion) error {
		if c.Bool("json") {
			return out.Encode(d)
		}
		_, err := fmt.Fprintf(c.App.Writer, "%s  %s  %s\n", d.Since.Local().Format(time.DateTime), d.URL, d.Reason)
		return err
	}
	return fromServiceOrStore(c,
		func(service *admin.Client) error { return service.Held(c.Context, show) },
		func(ctx context.Context, store *badgerstore.Store) error {
			return store.Held(ctx, func(e push.Entry) error {
				d, err := admin.NewHeldDeletion(e)
				if err != nil {
					return err
				}
				return show(d)
			})
		})
}

// decideHeld has the service release or drop, or does it where none runs: the next
// run sends the orders, or fetches the URLs.
func decideHeld(c *cli.Context, what string, urls []string) (n int, err error) {
	err = changeServiceOrStore(c,
		func(service *admin.Client) error {
			if what == "release" {
				n, err = service.Release(c.Context, urls...)
			} else {
				n, err = service.DropHeld(c.Context, urls...)
			}
			return err
		},
		func(ctx context.Context, store *badgerstore.Store) error {
			if what == "release" {
				n, err = store.Release(ctx, urls...)
			} else {
				_, n, err = store.DropHeld(ctx, urls...)
			}
			return err
		})
	return n, err
}
