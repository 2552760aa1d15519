package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
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
	chosen := chosenOrders(c)
	d := admin.DeadLetters{Target: chosen.Target, Source: chosen.Source, All: c.Bool("all")}
	d.URLs = slices.Concat(urls, chosen.URLs)
	if s := push.State(c.String("state")); s != "" && s != push.DeadLetter {
		return wrongUse("outbox %s --state %s: only dead letters are sent again or dropped; pending deletions are released or dropped by sextant deletions", what, s)
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
		err = say(c, admin.DecidedLetters{DeadLetters: n}, count(n, "dead letter")+" "+done)
	}
	if err == nil && n == 0 && !d.All {
		return no(fmt.Errorf("nothing like this is a dead letter: sextant outbox --state dead lists those that are"))
	}
	return err
}

// chosenOrders reads the flags that select orders, except for --state.
func chosenOrders(c *cli.Context) push.Selection {
	sel := push.Selection{Target: c.String("target"), URLs: c.StringSlice("url")}
	if c.IsSet("source") {
		source := c.String("source")
		sel.Source = &source
	}
	return sel
}

// listOutbox prints the orders of the running service or of the store.
func listOutbox(c *cli.Context) (err error) {
	sel := chosenOrders(c)
	if sel.State, err = push.ParseState(c.String("state")); err != nil {
		return wrongUse("--state: %w", err)
	}
	each := func(client *admin.Client, fn func(push.Listed) error) error {
		return client.Orders(c.Context, sel, fn)
	}
	if !c.Bool("count") {
		text := func(o *push.Listed) error { return printOrder(c.App.Writer, o) }
		return list(c, toRead, "no matching order is in the outbox", text, each)
	}
	sums := map[push.State]*orderSum{}
	for _, state := range push.States() {
		sums[state] = &orderSum{}
	}
	err = ask(c, toRead, func(client *admin.Client) error {
		return each(client, func(o push.Listed) error {
			sums[o.State].Orders++
			sums[o.State].Bytes += o.Bytes
			return nil
		})
	})
	if err != nil {
		return err
	}
	var lines []string
	for _, state := range push.States() {
		sum := sums[state]
		lines = append(lines, fmt.Sprintf("%-7s  %s, %s", state, count(sum.Orders, "order"), size(int64(sum.Bytes))))
	}
	return say(c, sums, strings.Join(lines, "\n"))
}

// orderSum is the number of orders, and the size of their bodies.
type orderSum struct {
	Orders int    `json:"orders"`
	Bytes  uint64 `json:"bytes"`
}

// printOrder prints an order on a line, with the message of the target that refused it.
func printOrder(w io.Writer, o *push.Listed) error {
	at := strings.Repeat(" ", len(clock.LocalForm))
	if !o.At.IsZero() {
		at = clock.Local(o.At)
	}
	op := o.Op.String()
	if o.Moves {
		op = "move"
	}
	line := fmt.Sprintf("%-7s  %s  %-6s  %s", o.State, at, op, o.URL)
	if o.Source != "" {
		line += "  source " + o.Source
	}
	if o.Target != "" {
		line += fmt.Sprintf("  refused by %s: %s", o.Target, clock.Localize(o.Words))
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
