package crawl

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Rounds run in a goroutine of their own, which Run starts and waits for. What is known of
// them is stored as JSON.

const (
	// roundsName is the key of the stored value with the last round.
	roundsName = "crawl.rounds"
	roundsWhat = "the last round over the start URLs"
	// roundStep is the longest interval between checks for the end of a round and the start of the next, because the clock
	// may be set, and start URLs may not be visited.
	roundStep = 10 * time.Second
)

// rounds is notified by workers that a round may have ended: when the pending start URL that it last found is done, so
// that only a few of many start URLs cause all of them to be checked.
type rounds struct {
	awaited atomic.Pointer[weburl.Key]
	done    chan struct{} // capacity 1
}

func newRounds() rounds { return rounds{done: make(chan struct{}, 1)} }

// visited notes that a visit is stored.
func (r *rounds) visited(k weburl.Key) {
	if awaited := r.awaited.Load(); awaited == nil || *awaited != k {
		return
	}
	select {
	case r.done <- struct{}{}:
	default:
	}
}

// round is the stored state of rounds: a round begins with its start URLs and lists being queued, and
// ends when none of them is pending.
type round struct {
	Running bool      `json:"running,omitempty"`
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"` // end of the last finished round; zero before that
}

// runRounds queues the start URLs and lists again an interval after the end of the last round, until ctx ends or the
// store fails. A crawl with --once begins at most one round. first is called after the first check.
func (c *Crawl) runRounds(ctx context.Context, once bool, first func()) error {
	defer first()
	var r round
	if err := scheduler.LoadValue(ctx, c.store, scheduler.CrawlValue(roundsName), roundsWhat, &r); err != nil {
		return err
	}
	for began := false; ; {
		pause := roundStep
		if interval := c.policy().Settings.Rounds; interval > 0 {
			before := r.Began
			if err := c.round(ctx, &r, interval, !once || !began); err != nil && ctx.Err() != nil {
				return c.keepRound(context.WithoutCancel(ctx), &r)
			} else if err != nil {
				return err
			}
			began = began || !r.Began.Equal(before)
			if !r.Running {
				pause = min(pause, time.Until(r.Ended.Add(interval)))
			}
		}
		first()
		select {
		case <-ctx.Done():
			return c.endRound(context.WithoutCancel(ctx), &r)
		case <-c.rounds.done:
		case <-time.After(max(pause, time.Millisecond)):
		}
	}
}

// round ends the current round if it is over, or begins the next if it is due and allowed. The first round consists of
// the start URLs queued at the start of a crawl.
func (c *Crawl) round(ctx context.Context, r *round, interval time.Duration, begins bool) error {
	now := time.Now().Round(0) // by the wall clock, which may be set
	switch {
	case r.Running:
		return c.endRound(ctx, r)
	case r.Began.IsZero():
	case r.Ended.After(now): // it was set back
		r.Ended = now
		return c.saveRound(ctx, r)
	case !begins || now.Before(r.Ended.Add(interval)):
		return nil
	default:
		roots, lists := roundLinks(c.policy())
		if _, err := c.frontier.Add(ctx, slices.Concat(roots, lists), true); err != nil {
			return err
		}
		c.log.Info("starting a round of discovery", "roots", len(roots), "lists", len(lists))
	}
	r.Running, r.Began = true, now
	c.meter.LastRound.Store(&now)
	if err := c.saveRound(ctx, r); err != nil {
		return err
	}
	return c.endRound(ctx, r) // finds the URLs that the round waits for
}

// roundLinks returns the URLs of a round: start URLs, and the sitemaps, feeds and XML files of the configuration,
// without those that rules exclude.
func roundLinks(p *policy.Policy) (roots, lists []scheduler.Link) {
	if !p.Settings.ListsOnly {
		roots = p.RootLinks(nil)
	}
	for _, s := range p.Sources {
		if l, _, ok := p.SourceLink(s.URL, s.Kind, ""); ok {
			l.Root = true
			lists = append(lists, l)
		}
	}
	return roots, lists
}

// endRound ends the current round if it is complete.
func (c *Crawl) endRound(ctx context.Context, r *round) error {
	if !r.Running || c.policy().Settings.Rounds == 0 {
		return nil
	}
	roots, lists := roundLinks(c.policy())
	for _, l := range slices.Backward(slices.Concat(roots, lists)) { // those that are fetched last come first
		k := l.URL.Key()
		c.rounds.awaited.Store(&k) // before it is looked up, so that its end is not missed
		known, err := c.store.Lookup(ctx, k)
		switch {
		case err == nil && known.State == scheduler.Waiting:
			return nil
		case err != nil && !errors.Is(err, scheduler.ErrNotFound):
			return err
		}
	}
	c.rounds.awaited.Store(nil)
	r.Running, r.Ended = false, time.Now().Round(0)
	return c.saveRound(ctx, r)
}

// keepRound stores a round that was being stored when the crawl stopped. Otherwise it would seem to be still running,
// and the next would begin an interval later.
func (c *Crawl) keepRound(ctx context.Context, r *round) error {
	if r.Running {
		return c.endRound(ctx, r)
	}
	return c.saveRound(ctx, r)
}

// LastRound returns when the last round of discovery since the process started began, zero for none.
func (c *Crawl) LastRound() (began time.Time) {
	if at := c.meter.LastRound.Load(); at != nil {
		began = *at
	}
	return began
}

func (c *Crawl) saveRound(ctx context.Context, r *round) error {
	return scheduler.SaveValue(ctx, c.store, scheduler.CrawlValue(roundsName), roundsWhat, *r)
}
