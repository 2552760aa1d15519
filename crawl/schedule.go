package crawl

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

const (
	// schedulesName is the key of the stored value with the last runs.
	schedulesName = "crawl.refreshes"
	schedulesWhat = "the last runs of the schedules"
	// scheduleStep is how often the clock is checked, because it may be set.
	scheduleStep = time.Minute
	// scheduleAhead is up to how far a last run may lie in the future, because the
	// clock was set back, before it is not believed.
	scheduleAhead = time.Hour
)

// lastRun is the stored state of a schedule.
type lastRun struct {
	At time.Time `json:"at"` // when it last ran, or was first seen
	// Running means that the run has not finished.
	Running bool `json:"running,omitempty"`
}

// Schedule is the next run of a Refresh; the zero time if there is none.
type Schedule struct {
	Spec  string    `json:"schedule"`
	Group string    `json:"group,omitempty"` // "" is all
	Match string    `json:"match,omitempty"` // its condition, "" without one
	Next  time.Time `json:"next"`
}

// schedules has their state beside the settings.
type schedules struct {
	changed chan struct{} // capacity 1: a reload may have changed them
	plan    atomic.Pointer[[]Schedule]
}

// Schedules are the refreshes in force; none before they were looked at for the
// first time.
func (c *Crawl) Schedules() []Schedule {
	if plan := c.schedules.plan.Load(); plan != nil {
		return *plan
	}
	return nil
}

// runSchedules runs the schedules, one after the other, until ctx ends, or the store fails. first is called when the
// runs that were missed have been caught up, or could not be.
func (c *Crawl) runSchedules(ctx context.Context, first func()) error {
	defer first()
	runs, err := storedRuns(ctx, c.store)
	if err != nil {
		return err
	}
	for {
		next, err := c.runDue(ctx, runs)
		if err != nil {
			return err
		}
		first()
		pause := scheduleStep
		if !next.IsZero() {
			pause = min(pause, time.Until(next))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.schedules.changed:
		case <-time.After(pause):
		}
	}
}

func storedRuns(ctx context.Context, store scheduler.Reader) (map[string]lastRun, error) {
	runs := map[string]lastRun{}
	err := scheduler.LoadValue(ctx, store, scheduler.CrawlValue(schedulesName), schedulesWhat, &runs)
	return runs, err
}

// runDue runs the schedules that are due and returns the time of the next run, zero if there is none. It removes
// schedules that are no longer configured.
func (c *Crawl) runDue(ctx context.Context, runs map[string]lastRun) (next time.Time, err error) {
	refreshes := c.policy().Settings.Refreshes
	named := map[string]bool{}
	plan := make([]Schedule, 0, len(refreshes))
	defer func() { c.schedules.plan.Store(&plan) }()
	for i := range refreshes {
		r := &refreshes[i]
		if r.Schedule == nil {
			continue
		}
		named[r.Name()] = true
		now := time.Now().Round(0) // by the wall clock, which may be set
		run, at := dueRun(r.Schedule, runs[r.Name()], now)
		if run != runs[r.Name()] {
			runs[r.Name()] = run
			if err := c.saveRuns(ctx, runs); err != nil {
				return next, err
			}
		}
		if run.Running {
			if err := c.runSchedule(ctx, r, runs); err != nil {
				return next, err
			}
			at = nextRun(r.Schedule, now)
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		plan = append(plan, Schedule{Spec: r.Spec, Group: r.Group, Match: r.Match, Next: at})
	}
	known := len(runs)
	maps.DeleteFunc(runs, func(name string, _ lastRun) bool { return !named[name] })
	if len(runs) < known {
		return next, c.saveRuns(ctx, runs)
	}
	return next, nil
}

// runSchedule queues the URLs of a schedule that have had no response since the run began, so an interrupted run
// resumes.
func (c *Crawl) runSchedule(ctx context.Context, r *policy.Refresh, runs map[string]lastRun) error {
	run := runs[r.Name()]
	selection := Selection{Group: r.Group, If: r.If, All: r.Group == "" && r.If == nil, before: run.At}
	done, err := c.Refresh(ctx, selection)
	if err != nil {
		return fmt.Errorf("refresh schedule %q: %w", r.Spec, err)
	}
	c.log.Info("scheduled refresh", "schedule", r.Spec, "group", r.Group, "match", r.Match, "urls", done.URLs, "waiting", done.Waiting)
	run.Running = false
	runs[r.Name()] = run
	return c.saveRuns(ctx, runs)
}

func (c *Crawl) saveRuns(ctx context.Context, runs map[string]lastRun) error {
	return scheduler.SaveValue(ctx, c.store, scheduler.CrawlValue(schedulesName), schedulesWhat, runs)
}

// dueRun returns the state of a schedule to store now, and its next run. A
// schedule that was never seen before has missed nothing; of several runs that
// were missed one is caught up.
func dueRun(s cron.Schedule, last lastRun, now time.Time) (run lastRun, next time.Time) {
	switch {
	case last.Running:
		return last, time.Time{}
	case last.At.IsZero(), last.At.After(now.Add(scheduleAhead)):
		last.At = now
	}
	next = nextRun(s, last.At)
	if next.IsZero() || next.After(now) {
		return last, next
	}
	return lastRun{At: now, Running: true}, time.Time{}
}

// starBit marks a field of a cron.SpecSchedule that was written with a star.
const starBit = 1 << 63

// nextRun is the schedule's next time after one, in local time or in its own zone.
// A schedule with fixed hours runs once on days that are set to or from summer
// time, too: a time that such a day leaves out comes as much later as the clock was
// set forward, of a time that it has twice the first one counts.
func nextRun(s cron.Schedule, after time.Time) time.Time {
	zone := time.Local
	spec, ok := s.(*cron.SpecSchedule)
	if ok && spec.Location != nil {
		zone = spec.Location
	}
	next := s.Next(after.In(zone))
	if !ok || spec.Hour&starBit != 0 || next.IsZero() {
		return next
	}
	if isSecond(next) {
		next = s.Next(next)
	}
	// By a clock that is not set forward.
	_, offset := after.In(zone).Zone()
	unset := *spec
	unset.Location = time.FixedZone("", offset)
	skipped := unset.Next(after.In(unset.Location))
	if skipped.Before(next) && isLeftOut(skipped, zone) {
		return skipped.In(zone)
	}
	return next
}

// isSecond reports whether the clock has shown t's local time before, because it was set back.
func isSecond(t time.Time) bool {
	_, now := t.Zone()
	_, before := t.Add(-3 * time.Hour).Zone()
	if before <= now {
		return false
	}
	first := t.Add(-time.Duration(before-now) * time.Second)
	return first.Hour() == t.Hour() && first.Minute() == t.Minute()
}

// isLeftOut reports whether clocks in zone never show the date and time of t.
func isLeftOut(t time.Time, zone *time.Location) bool {
	y, m, d := t.Date()
	shown := time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, zone)
	return shown.Hour() != t.Hour() || shown.Minute() != t.Minute()
}
