package crawl

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Each job runs in a goroutine of its own, which Run starts and waits for. What jobs keep is
// stored as JSON.

// job runs in a separate goroutine, until its context ends. If it fails, the crawl ends.
type job struct {
	name string
	run  func(context.Context) error
}

const (
	// retryPause is the pause of a job after an error of the store.
	retryPause = 5 * time.Second
	// keepEvery is the interval at which a constantly changing value is stored; a crash loses later changes.
	keepEvery = time.Minute
)

// jobs returns the jobs that Run starts, in this order.
func (c *Crawl) jobs(once bool) []job {
	caughtUp := c.frontier.Busy() // the runs that schedules have missed are not there yet
	looked := c.frontier.Busy()   // nor is a round that is due
	jobs := []job{
		{"frontier", c.frontier.Run},
		{"deletions", c.deletions.Run},
		{"relay", c.relay.Run},
		{"rates", c.meter.Run},
		{"crawl log", c.crawlLog.Run},
		{"review", c.retried("cannot judge stored URLs by the new rules", retryPause, c.reviewer.Run)},
		{"robots.txt", c.retried("cannot judge stored URLs by robots.txt", retryPause, c.reviewer.RunRobots)},
		{"reject list", c.watchRejectList},
		{"traps", c.kept(scheduler.CrawlValue(policy.TrapsName), "the counts of traps", c.trapCounts)},
		{"copies", c.retried("stopped looking for copies", retryPause, c.copies.Run)},
		{"schedules", c.retried("a scheduled refresh failed; retrying", scheduleStep, func(ctx context.Context) error {
			return c.runSchedules(ctx, caughtUp)
		})},
		{"rounds", c.retried("cannot begin or end a round of discovery", retryPause, func(ctx context.Context) error {
			return c.runRounds(ctx, once, looked)
		})},
	}
	if once {
		jobs = append(jobs, job{"waits", func(ctx context.Context) error { return logWaits(ctx, c) }})
	}
	if c.persistent.cookies != nil {
		jobs = append(jobs, job{"cookies", c.keepCookies})
	}
	if c.patterns != nil {
		jobs = append(jobs, job{"patterns", c.kept(scheduler.CrawlValue(copies.PatternsValue), copies.PatternsWhat, func() any { return c.patterns.Learnt(true) })})
	}
	return jobs
}

// keepCookiesEvery is the interval at which changed cookies are written; a crash costs a log-in.
const keepCookiesEvery = 10 * time.Second

// keepCookies writes the cookies that outlive the process.
func (c *Crawl) keepCookies(ctx context.Context) error {
	tick := time.NewTicker(keepCookiesEvery)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		now := c.inForce()
		var sites *auth.Jar
		if s := &now.Policy.Settings; s.EnableCookies && s.KeepCookies {
			sites = c.persistent.jar
		}
		if err := c.persistent.cookies.Save(now.FetchState.Accesses.Kept(), sites); err != nil {
			c.log.Error("cannot store cookies; sessions log in again after a restart", "error", err)
		}
	}
	return nil
}

// retried runs a job again, after a pause, if it fails. It ends with the job, with ctx, or on an error that the crawl
// cannot survive.
func (c *Crawl) retried(failure string, pause time.Duration, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			err := run(ctx)
			if err == nil || ctx.Err() != nil {
				return nil
			}
			if unrecoverable(err) {
				return err
			}
			c.log.Error(failure, "pause", pause, "error", err)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
		}
	}
}

// kept stores a value at intervals, and when ctx ends, if it has changed. now returns the value for
// scheduler.LoadValue, nil for none.
func (c *Crawl) kept(name scheduler.ValueName, what string, now func() any) func(context.Context) error {
	return func(ctx context.Context) error {
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
}
