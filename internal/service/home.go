package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// A goroutine of beside runs its function. The function that beside returns ends it and waits.

// storeFolder is the folder of a Crawler's store in its part of the data directory.
const storeFolder = "store"

// cookieFile is the file of cookies that outlive the process. It is next to the store, so backups do not contain it.
const cookieFile = "cookies"

// Home is the part of a data directory that is one Crawler's: the directory itself, or a
// folder of the Crawler's name if the configuration has several.
type Home struct {
	Crawler string // empty if it is the directory itself and no configuration was read
	Dir     string
	// Database has the store if it is not empty: Dir then has only what this machine needs.
	Database secret.Value
}

// Store is the folder of the Crawler's store, if that is not in a database.
func (h Home) Store() string { return filepath.Join(h.Dir, storeFolder) }

// Exists reports whether there is a store. One in a database may still be empty.
func (h Home) Exists() bool { return !h.Database.IsEmpty() || store.Exists(h.Store()) }

// name names the store in errors.
func (h Home) name() string {
	if h.Database.IsEmpty() {
		return h.Store()
	}
	return h.Crawler + " in the database"
}

// HomesIn finds the Crawlers that have a store in the database, if there is one, or below data, without a
// configuration. A crawler that is not empty selects one.
func HomesIn(ctx context.Context, data string, database secret.Value, crawler string) ([]Home, error) {
	if !database.IsEmpty() {
		return homesOf(ctx, data, database, crawler)
	}
	var found []Home
	if store.Exists(filepath.Join(data, storeFolder)) {
		found = append(found, Home{Dir: data})
	}
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		h := Home{Crawler: e.Name(), Dir: filepath.Join(data, e.Name())}
		if e.IsDir() && store.Exists(h.Store()) {
			if crawler == e.Name() {
				return []Home{h}, nil
			}
			names = append(names, e.Name())
			found = append(found, h)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%s contains no store: nothing was crawled there yet, or --data names another directory", data)
	case crawler != "" && len(names) > 0:
		return nil, fmt.Errorf("%s has no Crawler %q: it has %s", data, crawler, strings.Join(names, ", "))
	}
	return found, nil
}

func homesOf(ctx context.Context, data string, database secret.Value, crawler string) (found []Home, err error) {
	names, err := pgkv.Crawlers(ctx, database.Reveal())
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	for _, name := range names {
		h := Home{Crawler: name, Dir: data, Database: database}
		if len(names) > 1 {
			h.Dir = filepath.Join(data, name)
		}
		if crawler == "" || crawler == name {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the database has no such Crawler: %w", pgkv.ErrNotInit)
	}
	return found, nil
}

// checkHomes refuses to create a store beside one from a configuration with another number of Crawlers, whose documents
// would stay in the index permanently.
func checkHomes(data string, crawlers []config.Crawler) error {
	single := Home{Dir: data}
	if len(crawlers) > 1 {
		if store.Exists(single.Store()) {
			return fmt.Errorf("%s dates from when the configuration had one Crawler: move it to %s for the Crawler that continues it, or away",
				single.Store(), filepath.Join(data, "NAME", storeFolder))
		}
		return nil
	}
	named := Home{Dir: filepath.Join(data, crawlers[0].Name)}
	if store.Exists(named.Store()) && !store.Exists(single.Store()) {
		return fmt.Errorf("%s dates from when the configuration had several Crawlers: move it to %s to continue it, or away",
			named.Store(), single.Store())
	}
	return nil
}

// How long a store may be locked by another command, which reads it for a moment.
const (
	lockPatience = 5 * time.Second
	lockPause    = 50 * time.Millisecond
)

// openPatiently opens a store. If another command has it, it waits for a moment.
func openPatiently(ctx context.Context, h Home, o store.Options) (*store.Store, error) {
	for deadline := time.Now().Add(lockPatience); ; {
		opened, err := store.Open(h.Store(), o)
		if !errors.Is(err, scheduler.ErrLocked) || time.Now().After(deadline) {
			return opened, err
		}
		if !sleep(ctx, lockPause) {
			return nil, ctx.Err()
		}
	}
}

// FirstOrder is store.Options.FirstOrder for every process that may make orders: even
// in a restored store they are newer than all that were pushed before.
func FirstOrder() uint64 { return uint64(time.Now().UnixMicro()) } //nolint:gosec // after 1970

// HomeOf is a Crawler's part of the data directory, with the database if that is not empty.
func HomeOf(parsed *config.File, crawler config.Crawler, data string, database secret.Value) Home {
	if len(parsed.Crawlers) > 1 {
		data = filepath.Join(data, crawler.Name)
	}
	return Home{Crawler: crawler.Name, Dir: data, Database: database}
}

// sleep waits for a time. It returns false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// beside runs fn in a goroutine until its context ends; end ends it, and waits for fn.
func beside(ctx context.Context, fn func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { fn(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
