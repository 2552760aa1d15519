package crawl

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// drainLook is how long Ending.Idle waits at most for an outbox to be empty.
const drainLook = 2 * time.Second

// Ending finds out whether nothing is left to do in what one process has of a crawl that others have parts of, too, as Run does by itself for
// one that has all of it. The end of a run has two stages: CrawlEnds, and then LastWords, when that is so everywhere. Its methods are for one goroutine.
type Ending struct {
	c *Crawl
	// Judges says that deletions that rest are judged at the end, as --once has it; else they are left to rest.
	Judges bool
	// Patience is how long an indexer that is down is waited for; 0 is for ever.
	Patience time.Duration

	rounds int       // of last words
	ended  int64     // visits that had ended at the last of them
	left   int       // URLs that it asked for
	unsent time.Time // since when orders alone are waited for
	urges  func()    // ends that the relay is urged; nil: it is not
}

// Ending is how this crawl comes to its end with others.
func (c *Crawl) Ending() *Ending { return &Ending{c: c} }

// Close is called when the end is not waited for any more.
func (e *Ending) Close() {
	if e.urges != nil {
		e.urges()
	}
	e.urges = nil
}

// CrawlEnds reports whether all stored URLs are judged, nothing is left to crawl, and no letter waits, at this moment.
func (e *Ending) CrawlEnds(ctx context.Context) (bool, error) {
	c := e.c
	if idle, err := c.frontier.Idle(ctx); !idle || err != nil { // most looks end here
		return false, err
	}
	if c.partitions == nil {
		return c.rests(ctx)
	}
	if err := c.Renew(ctx); err != nil { // a page elsewhere may have moved a site
		return false, err
	}
	before := c.partitions.Store.Changes()
	if idle, err := c.rests(ctx); !idle || err != nil {
		return false, err
	}
	settled, err := c.partitions.Store.Settled(ctx)
	return settled && before == c.partitions.Store.Changes(), err
}

// rests reports whether stored URLs are judged, and nothing is left to crawl.
func (c *Crawl) rests(ctx context.Context) (bool, error) {
	if !c.reviewer.Progress().Done {
		return false, nil
	}
	idle, err := c.frontier.Idle(ctx)
	return idle && c.reviewer.Progress().Done, err
}

// Came has what a partition means that came meanwhile be judged, too.
func (e *Ending) Came() { e.rounds = 0 }

// LastWords reports whether what rests was judged after the last visit, and all orders were sent, too. It returns ErrIndexerDown when these alone are
// waited for longer than Patience.
func (e *Ending) LastWords(ctx context.Context) (bool, error) {
	idle, err := e.CrawlEnds(ctx)
	if !idle || err != nil {
		return false, err
	}
	if ended := e.c.meter.Pages.Load(); e.Judges && e.rounds < finishRounds && (e.rounds == 0 || e.left > 0 || ended != e.ended) {
		return false, e.judge(ctx, ended)
	}
	if e.urges == nil {
		e.urges = e.c.relay.Urge()
	}
	waiting, cancel := context.WithTimeout(ctx, drainLook)
	defer cancel()
	err = e.c.relay.Drained(waiting)
	switch {
	case err == nil:
		e.unsent = time.Time{}
		return e.CrawlEnds(ctx)
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, push.ErrStopped):
		return false, err
	case e.unsent.IsZero():
		e.unsent = time.Now()
	case e.Patience > 0 && time.Since(e.unsent) >= e.Patience:
		return false, indexerDown(e.Patience)
	}
	return false, nil
}

// judge judges what rests, for which some URLs may be asked for again.
func (e *Ending) judge(ctx context.Context, ended int64) error {
	again, err := e.c.copies.Tend(ctx)
	if err != nil {
		return err
	}
	asked, err := e.c.deletions.Finish(ctx)
	if err != nil {
		return err
	}
	e.rounds++
	e.ended, e.left = ended, again+asked
	return nil
}

// ends reports whether Run is to find the end.
func (o *Once) ends() bool { return o.Drain && !o.Together || o.MaxPages > 0 }

// Paused reports whether the crawl is paused.
func (c *Crawl) Paused() bool { return c.frontier.Paused() }

// awaitsSchedules keeps the crawl busy until it was looked what schedules mean for a partition that has come.
func (c *Crawl) awaitsSchedules() {
	if c.partitions.Start == nil || len(c.policy().Settings.Refreshes) == 0 {
		return
	}
	done := c.frontier.Busy()
	c.schedules.mu.Lock()
	c.schedules.came = append(c.schedules.came, done)
	c.schedules.mu.Unlock()
	select {
	case c.schedules.changed <- struct{}{}:
	default:
	}
}

// waits are who waits for the next look at schedules.
func (s *schedules) waits() (list []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, s.came = s.came, nil
	return list
}
