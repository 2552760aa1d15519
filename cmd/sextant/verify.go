package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:   "verify",
		Usage:  "check the whole store: every URL is in exactly one place",
		Flags:  flags(),
		Action: verify,
	}
}

func verify(c *cli.Context) error {
	all, err := verifications(c)
	if err != nil {
		return err
	}
	faults := 0
	for _, v := range all {
		faults += len(v.Faults)
		if c.Bool("json") {
			if err := json.NewEncoder(c.App.Writer).Encode(v); err != nil {
				return err
			}
			continue
		}
		for _, f := range v.Faults {
			fmt.Fprintln(c.App.Writer, f)
		}
		name := v.Crawler
		if name != "" {
			name += ": "
		}
		fmt.Fprintf(c.App.Writer, "%s%s, %s\n", name, count(v.URLs, "URL"), count(len(v.Faults), "fault"))
	}
	if faults > 0 {
		return no(nil)
	}
	return nil
}

// verifications asks the service, or walks the stores where none runs.
func verifications(c *cli.Context) ([]admin.Verification, error) {
	log, err := newLogger(c)
	if err != nil {
		return nil, err
	}
	data, crawler := c.String("data"), c.String("crawler")
	client, err := admin.Dial(c.Context, data, crawler)
	if err != nil {
		return nil, err
	}
	if client != nil {
		return verifyRunning(c.Context, data, client)
	}
	homes, err := service.HomesIn(data, crawler)
	if err != nil {
		return nil, err
	}
	var all []admin.Verification
	for _, h := range homes {
		v := admin.Verification{Crawler: h.Crawler, Faults: []string{}}
		err := service.ReadStore(c.Context, h, log, func(ctx context.Context, store *badgerstore.Store) error {
			report, err := store.Verify(ctx, func(f badgerstore.Fault) { v.Faults = append(v.Faults, service.FaultWords(f)) })
			v.URLs = report.URLs
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// verifyRunning asks the service about each Crawler that is meant.
func verifyRunning(ctx context.Context, data string, client *admin.Client) ([]admin.Verification, error) {
	statuses, err := client.Status(ctx)
	if err != nil {
		return nil, err
	}
	var all []admin.Verification
	for _, s := range statuses {
		one, err := admin.Dial(ctx, data, s.Crawler)
		if err != nil {
			return nil, err
		}
		if one == nil {
			return nil, errors.New("the service has ended meanwhile")
		}
		v, err := one.Verify(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
