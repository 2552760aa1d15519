package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/push"
)

func outbox(c *cli.Context) error {
	what, urls, err := decision(c, "retry", "drop")
	if err != nil {
		return err
	}
	if what == "" {
		if c.Bool("all") {
			return wrongUse("outbox --all: write outbox retry --all, or outbox drop --all")
		}
		return listOutbox(c)
	}
	d := admin.DeadLetters{Target: c.String("target"), All: c.Bool("all")}
	d.URLs = slices.Concat(urls, c.StringSlice("url"))
	if c.IsSet("source") {
		source := c.String("source")
		d.Source = &source
	}
	if s := push.State(c.String("state")); s != "" && s != push.DeadLetter {
		return wrongUse("outbox %s --state %s: only dead letters can be sent again or dropped; use sextant deletions to release or drop pending deletions", what, s)
	}
	if d.All == (len(d.URLs) > 0 || d.Target != "" || d.Source != nil) {
		return wrongUse("outbox %s: name URLs, --target or --source, or write --all", what)
	}
	done := map[string]string{"retry": "sent again", "drop": "dropped"}[what]
	n := 0
	err = ask(c, toChange, func(client *admin.Client) (err error) {
		n, err = client.DecideLetters(c.Context, what, d)
		return err
	})
	if err == nil {
		err = printResult(c, admin.DecidedLetters{DeadLetters: n}, admin.Count(n, "dead letter")+" "+done)
	}
	if err == nil && n == 0 && !d.All {
		return no(fmt.Errorf("no dead letter matches: sextant outbox --state dead lists them"))
	}
	return err
}

// listOutbox prints the orders of the running service or of the store.
func listOutbox(c *cli.Context) error {
	if _, err := push.ParseState(c.String("state")); err != nil {
		return wrongUse("--state: %w", err)
	}
	query := admin.Query("state", c.String("state"), "target", c.String("target"))
	query["url"] = c.StringSlice("url")
	if c.IsSet("source") {
		query.Set("source", c.String("source"))
	}
	if !c.Bool("count") {
		return list(c, toRead, "no matching order is in the outbox", line[push.Listed](c, "order"), "/outbox", query)
	}
	sums := map[push.State]*orderSum{}
	for _, state := range push.States() {
		sums[state] = &orderSum{}
	}
	err := ask(c, toRead, func(client *admin.Client) error {
		return admin.Each(c.Context, client, "/outbox", query, func(o push.Listed) error {
			sums[o.State].Orders++
			sums[o.State].Bytes += o.Bytes
			return nil
		})
	})
	if err != nil {
		return err
	}
	return showText(c, "sums", sums)
}

// orderSum is the number of orders, and the size of their bodies.
type orderSum struct {
	Orders int    `json:"orders"`
	Bytes  uint64 `json:"bytes"`
}
