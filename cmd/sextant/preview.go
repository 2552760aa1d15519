package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/internal/admin"
)

func preview(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("preview: name the changed configuration, one file or folder")
	}
	if c.Int("samples") < 0 {
		return wrongUse("--samples is 0 or more")
	}
	parsed, report, err := config.Load(c.Args().First())
	if err == nil {
		err = reportErrors(c, report)
	}
	if err != nil {
		return err
	}
	crawler, h, err := theCrawler(c, parsed)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(c.Args().First())
	if err != nil {
		return err
	}
	p, samples := &review.Preview{}, c.Int("samples")
	// A service reads the file itself, since file and socket have the same owner.
	err = askFor(c, crawler.Name, readOnly(h), func(client *admin.Client) error {
		return client.Post(c.Context, "/preview", nil, admin.PreviewRequest{Path: path, Samples: &samples}, p)
	})
	if err != nil {
		return err
	}
	return showText(c, "preview", p)
}
