package main

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func fetchOne(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("fetch: name one URL")
	}
	if c.Int("text") < 0 {
		return wrongUse("--text is 0 or more")
	}
	raw := c.Args().First()
	u, err := weburl.Parse(raw)
	if err != nil {
		if err := showUnreadable(c, raw, err); err != nil {
			return err
		}
		return no(nil)
	}
	crawler, h, err := oneCrawler(c)
	if err != nil {
		return err
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.Bool("render") {
		crawler.Settings = crawler.RenderAll()
	}
	var f *admin.Fetched
	dry := func(known admin.Knowledge) (err error) {
		f, err = service.DryRun(ctx, crawler, known, raw, u, userAgent(), log)
		return err
	}
	err = withKnowledge(c, h, crawler.Name, dry)
	if errors.Is(err, fs.ErrNotExist) { // before the first crawl there is no store
		err = dry(admin.Knowledge{})
	}
	if err != nil {
		return err
	}
	err = show(c, f, func() error {
		return texts(c.App.Writer, painter(c))("fetched", shownFetch{f, c.Int("text")})
	})
	if err == nil && (f.Stored == nil || f.Stored.Class != scheduler.OK.String() && f.Stored.Class != scheduler.Redirect.String()) {
		return no(nil)
	}
	return err
}
