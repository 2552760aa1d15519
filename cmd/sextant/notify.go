package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/internal/service"
)

// testNotice bounds a test, which a user waits for.
const testNotice = 20 * time.Second

func sendTestNotice(c *cli.Context) error {
	if c.Args().Present() || !c.Bool("test") {
		return wrongUse("write sextant notify --test: the service sends all other notices itself")
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	parsed, _, err := loadConfig(c)
	if err != nil {
		return err
	}
	if len(parsed.Notify) == 0 {
		return no(errors.New("the configuration has no <Notify>: no notice was sent"))
	}
	n, err := notices.New(notices.Settings{Receivers: service.Receivers(parsed), Log: log})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, testNotice)
	defer cancel()
	told, err := n.Test(ctx)
	if err = errors.Join(err, showText(c, "notified", map[string][]string{"sent": told})); err != nil {
		return no(err)
	}
	return nil
}
