package crawl

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/sextant-crawler/sextant/crawl/copies"
)

// keepEvery is how often a value is stored that changes all the time; a crash forgets
// what was counted since.
const keepEvery = time.Minute

// keepValue stores a value at intervals, and when ctx ends, if it has changed. Now gives
// what loadValue is to find, nil for nothing.
func (c *Crawl) keepValue(ctx context.Context, name, what string, now func() any) error {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	var stored []byte
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		b, err := json.Marshal(now())
		if err == nil {
			if string(b) == "null" || bytes.Equal(b, stored) {
				continue
			}
			err = c.store.SetValue(context.WithoutCancel(ctx), name, b)
		}
		if err != nil {
			c.log.Error(what+" are not stored", "error", err)
			continue
		}
		stored = b
	}
	return nil
}

// goesOn tells an error of work in the background that is tried again after a pause. It
// gives those that end the work: ctx is over, or the crawl cannot go on.
func (c *Crawl) goesOn(ctx context.Context, err error, words string, pause time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if unrecoverable(err) {
		return err
	}
	c.log.Error(words, "pause", pause, "error", err)
	return nil
}

// keepPatterns stores what the patterns of copies have counted until ctx ends.
func (c *Crawl) keepPatterns(ctx context.Context) error {
	if c.patterns == nil {
		return nil
	}
	return c.keepValue(ctx, copies.PatternsValue, copies.PatternsWhat, func() any { return c.patterns.Learnt(true) })
}

// tendCopies is how often what is known of hosts is held against the copies that were found.
const tendCopies = time.Minute

// keepDuplicates loads the signatures of documents that start has left, and tends to copies
// until ctx ends.
func (c *Crawl) keepDuplicates(ctx context.Context) error {
	for {
		pause := tendCopies
		err := c.copies.Load(ctx)
		if err == nil {
			_, err = c.copies.Tend(ctx)
		}
		if err != nil {
			pause = passRetry
			if err := c.goesOn(ctx, err, "looking for copies goes no further", pause); err != nil {
				return ignoreStop(err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}
