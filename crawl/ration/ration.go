// Package ration divides the limits of a whole crawl by the processes that crawl, so that all together never exceed
// them, also while processes come, go, freeze or are cut off.
//
// A table that all of them read names the processes that have a ration, each the same. A process follows it by its own
// clock alone:
//
//   - a smaller ration counts at once, a larger one when the table has been seen for Silence;
//   - any ration is over Right after the last read of the table was sent, and a process without one begins with
//     nothing;
//   - a process replaces only a table that it has seen for Silence.
//
// Why the sum holds: let T be the table in force Right before some moment. A process that has a ration at that moment
// has read T or the table after it since, because tables last longer than Right; if the later one, less than Silence
// ago, and T before. So no process has more than T gives. No two clocks may differ in speed by more than Silence /
// Right.
//
// There is no goroutine and no lock here.
package ration

import (
	"slices"
	"time"
)

// Table lists the processes that have a ration. Number differs from that of all previous tables.
type Table struct {
	Number int64
	Names  []string
}

// of is a process's ration.
func (t *Table) of(name string) float64 {
	if !slices.Contains(t.Names, name) {
		return 0
	}
	return 1 / float64(len(t.Names))
}

// Ration is a process's share. Right and Silence are the same for all. All times are readings of the process's own
// clock, which is monotonic and also counts while the machine sleeps.
type Ration struct {
	Name           string
	Right, Silence time.Duration

	seen  []sight // tables that bound the ration, the current one last
	until time.Duration
}

// sight is a table, with when it was seen first and when a later one was.
type sight struct {
	Table
	since, replaced time.Duration
}

// Saw takes in a table that was read by a question sent at a time. Answers are taken in in the order of their
// questions.
func (r *Ration) Saw(t Table, sent, now time.Duration) {
	r.forget(now)
	if len(r.seen) == 0 { // with nothing, until this has been in force for long enough
		r.seen = []sight{{since: now, replaced: now}, {Table: t, since: now}}
	} else if last := &r.seen[len(r.seen)-1]; last.Number != t.Number {
		last.replaced = now
		r.seen = append(r.seen, sight{Table: t, since: now})
	}
	r.until = sent + r.Right
	r.forget(now)
}

// Part returns the current share of each limit, between 0 and 1. It changes over time, so it must be called before each
// use.
func (r *Ration) Part(now time.Duration) float64 {
	r.forget(now)
	if len(r.seen) == 0 {
		return 0
	}
	part := 1.0
	for i := range r.seen {
		part = min(part, r.seen[i].of(r.Name))
	}
	return part
}

// MayReplace reports whether the process may replace the table that it saw last.
func (r *Ration) MayReplace(now time.Duration) bool {
	r.forget(now)
	return len(r.seen) > 0 && now-r.seen[len(r.seen)-1].since >= r.Silence
}

// forget drops the tables that bind no more, and all of them if the last read is too old.
func (r *Ration) forget(now time.Duration) {
	if now >= r.until {
		r.seen = nil
		return
	}
	binding := r.seen[:0]
	for i, s := range r.seen {
		if i == len(r.seen)-1 || now-s.replaced < r.Silence {
			binding = append(binding, s)
		}
	}
	r.seen = binding
}
