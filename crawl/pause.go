package crawl

import (
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
)

// pausedName is the key of the stored value for whether the crawl is paused: pausedYes, or anything else for no.
const (
	pausedName = "crawl.paused"
	pausedYes  = "paused"
)

// ErrPaused means that a crawl with an end does not begin because it is paused.
var ErrPaused = errors.New("the crawl is paused and would never end: run sextant resume first")

func storedPause(ctx context.Context, store scheduler.Reader) (bool, error) {
	b, err := store.Value(ctx, scheduler.CrawlValue(pausedName))
	return string(b) == pausedYes, err
}

// Pause makes the crawl fetch nothing until Resume, also after a restart. Pages in flight are finished, and the outbox
// is still pushed.
func (c *Crawl) Pause(ctx context.Context) error {
	return c.setPaused(ctx, pausedYes, c.frontier.Pause)
}

// Resume ends a pause.
func (c *Crawl) Resume(ctx context.Context) error {
	return c.setPaused(ctx, "", c.frontier.Resume)
}

// ResumeStored ends the pause of a store that no crawl has open.
func ResumeStored(ctx context.Context, store scheduler.Store) error {
	return store.SetValue(ctx, scheduler.CrawlValue(pausedName), nil)
}

// setPaused stores the state before it is in force.
func (c *Crawl) setPaused(ctx context.Context, value string, apply func()) error {
	c.pausing.Lock()
	defer c.pausing.Unlock()
	ctx = context.WithoutCancel(ctx) // a stored pause is in force, even if its caller has gone
	if err := c.store.SetValue(ctx, scheduler.CrawlValue(pausedName), []byte(value)); err != nil {
		return fmt.Errorf("storing whether the crawl is paused: %w", err)
	}
	apply()
	return nil
}
