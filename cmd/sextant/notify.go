package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/notices"
)

// noticesFile remembers in the data directory what was told.
const noticesFile = "notices.json"

// testNotice bounds a test, in which somebody waits.
const testNotice = 20 * time.Second

func notifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "notify",
		Usage: "send a test notice to each <Notify> of the configuration",
		Description: "Nothing is told of the crawl: whoever gets the notice reads that it is a test. No service needs to\n" +
			"run. It ends with 1 if a webhook does not take it or a command fails.",
		Flags: flags(
			&cli.BoolFlag{Name: "test", Usage: "send it", EnvVars: env("test")},
		),
		Action: sendTestNotice,
	}
}

func sendTestNotice(c *cli.Context) error {
	if c.Args().Present() || !c.Bool("test") {
		return wrongUse("write sextant notify --test: the service sends all other notices by itself")
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
		return no(errors.New("the configuration has no <Notify>: nobody is told of anything"))
	}
	n, err := notices.New(notices.Settings{Receivers: receiversOf(parsed), Log: log})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, testNotice)
	defer cancel()
	told, err := n.Test(ctx)
	for _, name := range told {
		fmt.Fprintln(c.App.Writer, "sent to "+name)
	}
	if err != nil {
		return no(err)
	}
	return nil
}

// receiversOf are those of a configuration.
func receiversOf(f *config.File) []notices.Receiver {
	var out []notices.Receiver
	for _, n := range f.Notify {
		out = append(out, notices.Receiver{
			Webhook: n.Webhook, Secret: n.Secret, Command: n.Command, On: n.On, IndexerDown: n.IndexerDown,
		})
	}
	return out
}

// notifier tells the receivers what needs a person.
func (s *service) notifier(f *config.File, data string) (*notices.Notifier, error) {
	crawlers := s.shown()
	return notices.New(notices.Settings{
		Receivers: receiversOf(f), Path: filepath.Join(data, noticesFile), Log: s.log,
		Observe: func(ctx context.Context) notices.Observation { return admin.Observe(ctx, crawlers) },
	})
}

// shown are the Crawlers as the service shows them.
func (s *service) shown() []admin.Crawler {
	out := make([]admin.Crawler, len(s.crawls))
	for i, r := range s.crawls {
		out[i] = r
	}
	return out
}
