package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// oneHome is the only Crawler below data, or the one that crawler names.
func oneHome(data, crawler string) (service.Home, error) {
	found, err := service.HomesIn(data, crawler)
	if err != nil {
		return service.Home{}, err
	}
	if len(found) > 1 {
		var names []string
		for _, h := range found {
			names = append(names, h.Crawler)
		}
		return service.Home{}, wrongUse("%s holds several Crawlers: name one with --crawler (%s)", data, strings.Join(names, ", "))
	}
	return found[0], nil
}

// fromServiceOrStore asks the running service, or reads the store if none runs.
func fromServiceOrStore(c *cli.Context, running func(*admin.Client) error, stored func(context.Context, *badgerstore.Store) error) error {
	return serviceOrStore(c, badgerstore.Options{ReadOnly: true}, running, stored)
}

// changeServiceOrStore has the running service change something, or changes the store if
// none runs.
func changeServiceOrStore(c *cli.Context, running func(*admin.Client) error, stored func(context.Context, *badgerstore.Store) error) error {
	return serviceOrStore(c, badgerstore.Options{FirstOrder: service.FirstOrder()},
		func(client *admin.Client) error { return asked(running(client)) },
		func(ctx context.Context, store *badgerstore.Store) error { return answered(stored(ctx, store)) })
}

func serviceOrStore(c *cli.Context, o badgerstore.Options, running func(*admin.Client) error, stored func(context.Context, *badgerstore.Store) error) error {
	data, crawler := c.String("data"), c.String("crawler")
	client, err := admin.Dial(c.Context, data, crawler)
	if err != nil {
		return err
	}
	if client != nil {
		return running(client)
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	h, err := oneHome(data, crawler)
	if err != nil {
		return err
	}
	o.Logger = log
	return service.WithStore(c.Context, h, o, stored)
}

// theService is the one that runs, for a command that needs it; the error says that none
// does, and what then, or why it cannot be asked.
func theService(c *cli.Context, crawler, then string) (*admin.Client, error) {
	client, err := admin.Dial(c.Context, c.String("data"), crawler)
	if err == nil && client == nil {
		err = fmt.Errorf("no service runs on %s: %s", c.String("data"), then)
	}
	return client, err
}

// noneShown says to a person that a list is empty: on stderr, so that a list stays one.
func noneShown(c *cli.Context, shown int, words string, err error) error {
	if err == nil && shown == 0 && !c.Bool("json") {
		fmt.Fprintln(c.App.ErrWriter, words)
	}
	return err
}

// decision reads the arguments of a command that lists, or decides about URLs: one of
// the verbs, "" without one, and URLs.
func decision(c *cli.Context, verbs ...string) (verb string, urls []string, err error) {
	if verb = c.Args().First(); verb == "" {
		return "", nil, nil
	}
	if !slices.Contains(verbs, verb) {
		return "", nil, wrongUse("%s %q: write %s and URLs or --all; without, they are listed", c.Command.Name, verb, strings.Join(verbs, " or "))
	}
	urls, err = expandStdin(c, c.Args().Tail())
	return verb, urls, err
}
