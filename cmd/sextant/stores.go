package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// storeFolder is where a Crawler's store lies in its part of the data directory.
const storeFolder = "store"

// home is the part of a data directory that is one Crawler's: the directory
// itself, or a folder of the Crawler's name where the file has several.
type home struct {
	crawler string // "" where it is the directory itself and no configuration was read
	dir     string
}

func (h home) store() string { return filepath.Join(h.dir, storeFolder) }

// homesIn finds the Crawlers that have a store below data, without a
// configuration. Crawler selects one.
func homesIn(data, crawler string) ([]home, error) {
	var found []home
	if badgerstore.Exists(filepath.Join(data, storeFolder)) {
		found = append(found, home{dir: data})
	}
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		h := home{crawler: e.Name(), dir: filepath.Join(data, e.Name())}
		if e.IsDir() && badgerstore.Exists(h.store()) {
			if crawler == e.Name() {
				return []home{h}, nil
			}
			names = append(names, e.Name())
			found = append(found, h)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%s holds no store: nothing was crawled there yet, or --data names another directory", data)
	case crawler != "" && len(names) > 0:
		return nil, fmt.Errorf("%s has no Crawler %q: it has %s", data, crawler, strings.Join(names, ", "))
	}
	return found, nil
}

// oneHome is the only Crawler below data, or the one that crawler names.
func oneHome(data, crawler string) (home, error) {
	found, err := homesIn(data, crawler)
	if err != nil {
		return home{}, err
	}
	if len(found) > 1 {
		var names []string
		for _, h := range found {
			names = append(names, h.crawler)
		}
		return home{}, wrongUse("%s holds several Crawlers: name one with --crawler (%s)", data, strings.Join(names, ", "))
	}
	return found[0], nil
}

// checkHomes refuses to begin anew beside a store that a configuration with
// another number of Crawlers left: its documents would stay in the index for ever.
func checkHomes(data string, crawlers []config.Crawler) error {
	single := home{dir: data}
	if len(crawlers) > 1 {
		if badgerstore.Exists(single.store()) {
			return fmt.Errorf("%s is from the time when the configuration had one Crawler: move it to %s for the Crawler that continues it, or away",
				single.store(), filepath.Join(data, "NAME", storeFolder))
		}
		return nil
	}
	named := home{dir: filepath.Join(data, crawlers[0].Name)}
	if badgerstore.Exists(named.store()) && !badgerstore.Exists(single.store()) {
		return fmt.Errorf("%s is from the time when the configuration had several Crawlers: move it to %s to continue it, or away",
			named.store(), single.store())
	}
	return nil
}

// readStore opens a store that is not to be changed, for the length of fn.
func readStore(ctx context.Context, h home, log *slog.Logger, fn func(context.Context, *badgerstore.Store) error) error {
	return withStore(ctx, h, badgerstore.Options{ReadOnly: true, Logger: log}, fn)
}

// withKnownStore opens a store for the length of fn, if there is one.
func withKnownStore(ctx context.Context, h home, o badgerstore.Options, fn func(context.Context, *badgerstore.Store) error) error {
	if !badgerstore.Exists(h.store()) {
		return fmt.Errorf("%s holds no store: nothing was crawled there yet, or --data names another directory", h.dir)
	}
	return withStore(ctx, h, o, fn)
}

// withStore opens a store for the length of fn.
func withStore(ctx context.Context, h home, o badgerstore.Options, fn func(context.Context, *badgerstore.Store) error) (err error) {
	store, err := openPatiently(ctx, h, o)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	return fn(ctx, store)
}

// How long a store may be locked by another command, which reads it for a moment.
const (
	lockPatience = 5 * time.Second
	lockPause    = 50 * time.Millisecond
)

// openPatiently opens a store; while another command has it, it waits a little.
func openPatiently(ctx context.Context, h home, o badgerstore.Options) (*badgerstore.Store, error) {
	for deadline := time.Now().Add(lockPatience); ; {
		store, err := badgerstore.Open(h.store(), o)
		if !errors.Is(err, scheduler.ErrLocked) || time.Now().After(deadline) {
			return store, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// fromServiceOrStore asks the running service, or reads the store where none runs.
func fromServiceOrStore(c *cli.Context, service func(*admin.Client) error, stored func(context.Context, *badgerstore.Store) error) error {
	return serviceOrStore(c, badgerstore.Options{ReadOnly: true}, service, stored)
}

// changeServiceOrStore has the running service change something, or changes the store
// where none runs.
func changeServiceOrStore(c *cli.Context, service func(*admin.Client) error, stored func(context.Context, *badgerstore.Store) error) error {
	return serviceOrStore(c, badgerstore.Options{FirstOrder: firstOrder()},
		func(running *admin.Client) error { return asked(service(running)) },
		func(ctx context.Context, store *badgerstore.Store) error { return answered(stored(ctx, store)) })
}

func serviceOrStore(c *cli.Context, o badgerstore.Options, service func(*admin.Client) error, stored func(context.Context, *badgerstore.Store) error) error {
	data, crawler := c.String("data"), c.String("crawler")
	if running, ok := admin.Dial(c.Context, data, crawler); ok {
		return service(running)
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
	return withStore(c.Context, h, o, stored)
}

// firstOrder is Options.FirstOrder of all that may make orders: where the store was
// restored they are newer, too, than those that were pushed before.
func firstOrder() uint64 { return uint64(time.Now().UnixMicro()) } //nolint:gosec // after 1970

// decision reads the arguments of a command that lists, or decides about URLs: one of
// the verbs, "" where there is none, and URLs.
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
