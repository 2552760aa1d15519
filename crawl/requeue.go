package crawl

import (
	"context"
	"log/slog"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Refreshed is the result of a refresh.
type Refreshed struct {
	URLs int `json:"urls"` // put into a queue
	// Waiting URLs were in a queue or in flight already, and are unchanged. Excluded URLs are excluded by rules, and not
	// fetched.
	Waiting  int `json:"waiting"`
	Excluded int `json:"excluded"`
	// HeldUp counts those of both whose last visit failed for lack of robots.txt, proxy or log-in: they wait until it
	// works.
	HeldUp int `json:"held_up,omitempty"`
}

// Refresh queues stored URLs that rest or are not due yet: in the refresh fifo with smart refresh, else in the index
// fifo. A URL that was never fetched, or is being retried, goes to its own fifo. Unknown roots of the configuration are
// added. If ctx ends, or the store fails, the counts are those so far.
func (c *Crawl) Refresh(ctx context.Context, s Selection) (Refreshed, error) {
	defer c.frontier.Busy()()
	return refresh(ctx, c.policy(), c.store, c.frontier, s)
}

// RefreshStored is Crawl.Refresh for a store that no crawl has open.
func RefreshStored(ctx context.Context, settings policy.Settings, store scheduler.Store, s Selection, log *slog.Logger) (Refreshed, error) {
	p, err := policy.Stored(ctx, settings, store)
	if err != nil {
		return Refreshed{}, err
	}
	return refresh(ctx, p, store, scheduler.New(store, policy.FrontierSettings(p), log), s)
}

func refresh(ctx context.Context, p *policy.Policy, store scheduler.Store, frontier *scheduler.Frontier, s Selection) (done Refreshed, err error) {
	selector, err := selects(ctx, p, store, s)
	if err != nil {
		return done, err
	}
	source := scheduler.Index
	if p.Settings.Frontier.SmartRefresh {
		source = scheduler.Refresh
	}
	err = selector.each(ctx, store, func(batch []scheduler.KeyedRecord) error {
		keys := make([]weburl.Key, 0, len(batch))
		for i := range batch {
			r := &batch[i].Record
			if policy.Outside(r) == 0 && r.Reason.Waits() {
				done.HeldUp++
			}
			switch {
			case policy.Outside(r) != 0:
				done.Excluded++
			case r.State == scheduler.Waiting:
				done.Waiting++
			case r.Kind == scheduler.KindItem: // its feed is refreshed
			default:
				keys = append(keys, batch[i].Key)
			}
		}
		if len(keys) == 0 {
			return nil
		}
		// Not cancelled half-way: the counts would be wrong.
		n, err := frontier.Revise(context.WithoutCancel(ctx), keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			if policy.Outside(&r) != 0 || r.Kind == scheduler.KindItem {
				return nil
			}
			return &scheduler.Change{Next: queuedAgain(r, source, s.Full)}
		})
		done.URLs += n
		return err
	})
	if err != nil {
		return done, err
	}
	// Last, or they would be found waiting.
	n, err := selector.addRoots(ctx, p, frontier)
	done.URLs += n
	return done, err
}

// queuedAgain returns a record that is queued for refresh. Without validators and hash its next response is complete
// and is pushed, whenever it comes.
func queuedAgain(r scheduler.Record, source scheduler.Source, full bool) scheduler.Record {
	r.Source = r.DueSource(source)
	r.State, r.NextAt = scheduler.Waiting, time.Time{}
	if full {
		r.ETag, r.LastModified, r.Date, r.Hash = "", "", "", [16]byte{}
	}
	return r
}
