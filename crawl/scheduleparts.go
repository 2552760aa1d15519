package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// refreshedName is the value of a partition that says which run of each schedule it has done.
func refreshedName(number int) string { return fmt.Sprintf("crawl.refreshed.%d", number) }

const refreshedWhat = "the runs of schedules that a partition has done"

// runDueParts is runDue for a crawl over partitions: a run begins once for all processes, and each partition does its part of it once, which its own store
// keeps. So it is done once, and late if need be, wherever the partition is.
func (c *Crawl) runDueParts(ctx context.Context) (next time.Time, err error) {
	refreshes := c.policy().Settings.Refreshes
	plan := make([]Schedule, 0, len(refreshes))
	defer func() { c.schedules.plan.Store(&plan) }()
	for i := range refreshes {
		r := &refreshes[i]
		now := time.Now().Round(0)
		began, err := c.partitions.Start(ctx, r.Name(), func(last time.Time) (time.Time, bool) {
			run, _ := dueRun(r.Schedule, lastRun{At: last}, now)
			return run.At, !run.At.Equal(last)
		})
		if err == nil {
			err = c.refreshParts(ctx, r, began)
		}
		if err != nil {
			return next, fmt.Errorf("refresh schedule %q: %w", r.Spec, err)
		}
		at := nextRun(r.Schedule, began)
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		plan = append(plan, Schedule{Spec: r.Spec, Group: r.Group, Next: at})
	}
	return next, nil
}

// refreshParts does the run of a schedule that began at a time in the partitions that have not done it. One that has never seen the schedule has missed
// nothing.
func (c *Crawl) refreshParts(ctx context.Context, r *policy.Refresh, began time.Time) error {
	noted, due := map[int]map[string]time.Time{}, false
	for n := range c.partitions.Number {
		runs := map[string]time.Time{}
		err := scheduler.LoadValue(ctx, c.store, refreshedName(n), refreshedWhat, &runs)
		if errors.Is(err, scheduler.ErrElsewhere) {
			continue
		} else if err != nil {
			return err
		}
		if last, seen := runs[r.Name()]; !seen || last.Before(began) {
			noted[n], due = runs, due || seen
		}
	}
	if due {
		done, err := c.Refresh(ctx, Selection{Group: r.Group, All: r.Group == "", before: began})
		if err != nil {
			return err
		}
		c.log.Info("scheduled refresh", "schedule", r.Spec, "group", r.Group, "urls", done.URLs, "waiting", done.Waiting)
	}
	named := map[string]bool{}
	for i := range c.policy().Settings.Refreshes {
		named[c.policy().Settings.Refreshes[i].Name()] = true
	}
	for n, runs := range noted {
		maps.DeleteFunc(runs, func(name string, _ time.Time) bool { return !named[name] })
		runs[r.Name()] = began
		err := scheduler.SaveValue(ctx, c.store, refreshedName(n), refreshedWhat, runs)
		if err != nil && !errors.Is(err, scheduler.ErrElsewhere) {
			return err
		}
	}
	return nil
}
