package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// selectionFlags select stored URLs.
func selectionFlags(own ...cli.Flag) []cli.Flag {
	own = append(own, filterFlags()...)
	return flags(append(own,
		&cli.StringFlag{Name: "group", Usage: "only URLs in the sites of the roots of this `GROUP`"},
		&cli.StringFlag{Name: "source", Usage: "only URLs that were pushed under this `SOURCE`"},
		&cli.StringFlag{Name: "match", Usage: "only URLs that match this `XMLCONDITION`, or the one in the file of this name, such as <Path val=\"/a\"/>"},
		&cli.BoolFlag{Name: "all", Usage: "all of them"},
	)...)
}

// selectionOf reads the flags and arguments of a command; URLs are those selected by
// all that is written.
func selectionOf(c *cli.Context) (admin.Selection, error) {
	s := admin.SelectionOf(filterOf(c))
	s.Group, s.All, s.Full = c.String("group"), c.Bool("all"), c.Bool("full")
	filter, _ := s.Filter()
	if _, err := report.ParseFilter(filter); err != nil {
		return s, wrongUse("--%w", err)
	}
	match, err := conditionText(c.String("match"))
	if err != nil {
		return s, err
	}
	s.Match = match
	if c.Args().Present() {
		if s.URLs, err = urlArguments(c); err != nil {
			return s, err
		}
		if len(s.URLs) == 0 {
			return s, wrongUse("%s: stdin holds no URL", c.Command.Name)
		}
	}
	if s.Empty() {
		return s, wrongUse("%s: name URLs (- reads them from stdin), or write --group, --source, --match, another filter, or --all", c.Command.Name)
	}
	return s, nil
}

// conditionText is the XML of --match, which is written or stands in a file, and was
// found to be a condition.
func conditionText(written string) (string, error) {
	if written == "" {
		return "", nil
	}
	if !strings.HasPrefix(strings.TrimSpace(written), "<") {
		if b, err := os.ReadFile(written); err == nil {
			written = string(b)
		}
	}
	if _, err := admin.ParseCondition(written); err != nil {
		return "", wrongUse("%w", err)
	}
	return written, nil
}

// answered gives the error of a command its exit code: what was declined for what it
// asks is a "no".
func answered(err error) error {
	if admin.IsDeclined(err) {
		return no(err)
	}
	return err
}

// asked is answered for a command that a service was sent.
func asked(err error) error {
	if errors.Is(err, admin.ErrDeclined) {
		return no(err)
	}
	return err
}

// bySelection has the running service do what is to be done with the selected URLs, or
// does it in the store where none runs.
func bySelection[T any](c *cli.Context, selection admin.Selection,
	running func(*admin.Client, context.Context, admin.Selection) (T, error),
	stored func(context.Context, policy.Settings, *badgerstore.Store, crawl.Selection, *slog.Logger) (T, error),
) (done T, err error) {
	client, err := admin.Dial(c.Context, c.String("data"), c.String("crawler"))
	if err != nil {
		return done, err
	}
	if client != nil {
		done, err = running(client, c.Context, selection)
		return done, asked(err)
	}
	compiled, err := selection.Compile()
	if err != nil {
		return done, err
	}
	log, err := newLogger(c)
	if err != nil {
		return done, err
	}
	crawler, h, err := oneCrawler(c)
	if err != nil {
		return done, err
	}
	err = service.WithKnownStore(c.Context, h, service.StoreOptions(crawler, log), func(ctx context.Context, store *badgerstore.Store) error {
		done, err = stored(ctx, crawlSettings(crawler), store, compiled, log)
		return answered(err)
	})
	return done, err
}
