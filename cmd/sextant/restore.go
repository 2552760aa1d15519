package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
)

func restore(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("restore: name one file, or - for stdin")
	}
	name := c.Args().First()
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	data := c.String("data")
	running, err := admin.Dial(c.Context, data, "")
	if err != nil {
		return err
	}
	if running != nil {
		return fmt.Errorf("a service is running on %s: stop it, or choose another --data", data)
	}
	h, err := restoreHome(c)
	if err != nil {
		return err
	}
	if h.Database.IsEmpty() && h.Exists() {
		return fmt.Errorf("%s already contains a store: move it away, or choose another --data", h.Dir)
	}
	in := c.App.Reader
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	report, err := service.Offline{Home: h, Log: log}.Restore(c.Context, in)
	if err != nil {
		return err
	}
	record := map[string]any{"data": h.Dir, "urls": report.URLs, "orders": report.Orders, "faults": report.Faults}
	if err := showText(c, "restored", record); err != nil {
		return err
	}
	if report.Faults > 0 {
		return no(errors.New("the store had faults when it was backed up: sextant verify lists them"))
	}
	return nil
}

// restoreHome returns where to restore a store: as configured, if there is a configuration.
func restoreHome(c *cli.Context) (service.Home, error) {
	data, crawler := c.String("data"), c.String("crawler")
	if database, err := databaseOf(c); err != nil || !database.IsEmpty() {
		_, h, err := oneCrawler(c)
		return h, err
	}
	if path, err := configPath(c); err == nil {
		if parsed, _, err := config.Load(path); err == nil && parsed != nil {
			_, h, err := theCrawler(c, parsed)
			return h, err
		}
	}
	if crawler != "" {
		data = filepath.Join(data, crawler)
	}
	return service.Home{Crawler: crawler, Dir: data}, nil
}
