package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/report"
)

// Rounds belong to the goroutine of the history, which calls the watcher.

// roundOf contains the rounds of a sighting.
type roundOf struct {
	discovery time.Time            // when the last round of discovery began
	schedules map[string]time.Time // when each runs next
	counts    events.Made          // since the process started
	open      *round               // nil: none
	noted     time.Time            // when one was last recorded
}

// round is a round that has begun.
type round struct {
	of           string
	more         int       // number of rounds that have begun since
	began, ended time.Time // ended is zero while URLs wait
	from, to     events.Made
}

func roundsOf(c Crawler, s *Status) roundOf {
	r := roundOf{discovery: c.LastRound(), schedules: map[string]time.Time{}, counts: s.Made()}
	for _, one := range s.Schedules {
		name := "schedule " + one.Spec
		if one.Group != "" {
			name += ", group " + one.Group
		}
		if one.Match != "" {
			name += ", " + one.Match
		}
		r.schedules[name] = one.Next
	}
	return r
}

// Made counts the changes of documents, and the failed visits, since the process started. A page that was read but
// lacks text or a Field did not fail, nor did one that robots.txt forbids.
func (s *Status) Made() events.Made {
	m := events.Made{Failed: Sum(s.Errors)}
	for _, class := range []string{
		report.ErrorRobots, report.ErrorTooLarge, report.ErrorNoText, report.ErrorAppShell, report.ErrorNoField,
	} {
		m.Failed -= s.Errors[class]
	}
	if s.Store != nil {
		m.Added, m.Changed, m.Gone = s.Store.DocumentsAdded, s.Store.DocumentsUpdated, s.Store.DocumentsDeleted
	}
	return m
}

// roundsEvery is the least time between events about rounds: frequent ones would displace those of operators.
const roundsEvery = time.Hour

// rounds records a round when no URL of it is pending, or the next one begins. Those that come more often than
// roundsEvery are recorded as one.
func (w *watcher) rounds(ctx context.Context, c Crawler, s *Status, before, now *sighting) {
	if w.server.about.Once {
		return // the run is the round
	}
	now.open, now.noted = before.open, before.noted
	due := time.Since(now.noted) >= roundsEvery
	if of := now.begun(before); of != "" {
		if now.open != nil && due {
			now.open.end(before.counts)
			w.made(ctx, c, now)
		}
		if now.open == nil {
			now.open = &round{of: of, began: time.Now(), from: before.counts}
		} else {
			now.open.more++
			now.open.ended = time.Time{}
		}
	}
	if now.open != nil && Sum(s.Pending) == 0 {
		now.open.end(now.counts)
	}
	if now.open != nil && !now.open.ended.IsZero() && due {
		w.made(ctx, c, now)
	}
}

// end records the end of a round, unless it has already ended.
func (r *round) end(counts events.Made) {
	if r.ended.IsZero() {
		r.ended, r.to = time.Now(), counts
	}
}

// begun names the round that began between two sightings, "" for none.
func (now *roundOf) begun(before *sighting) string {
	if now.discovery.After(before.discovery) {
		return "discovery"
	}
	for name, next := range now.schedules {
		if was, ok := before.schedules[name]; ok && next.After(was) && !was.After(time.Now()) {
			return name
		}
	}
	return ""
}

// made records the open round, which has ended, and notifies the receivers that name the event.
func (w *watcher) made(ctx context.Context, c Crawler, now *sighting) {
	r := now.open
	m := &events.Made{
		Of: r.of, Added: r.to.Added - r.from.Added, Changed: r.to.Changed - r.from.Changed, Gone: r.to.Gone - r.from.Gone,
		Failed: r.to.Failed - r.from.Failed, TookS: int64(r.ended.Sub(r.began).Seconds()),
	}
	if r.more > 0 {
		m.Of += fmt.Sprintf(" and %d more", r.more)
	}
	w.note(ctx, c, events.Event{Kind: events.Round, Text: m.String(), Made: m})
	if told := w.server.about.Round; told != nil {
		told(c.Name(), m.String())
	}
	now.open, now.noted = nil, time.Now()
}
