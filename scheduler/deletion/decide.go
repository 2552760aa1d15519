package deletion

import (
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Verdict is the decision on a loss.
type Verdict uint8

// The verdicts.
const (
	Wait     Verdict = iota // for a visit, or until Decision.Until
	Ask                     // for a good response of another document of the host
	Mark                    // record that the host responded well after a visit that counts, and wait
	CarryOut                // the document leaves, or gets its new text
	Hold                    // until the host's health changes
)

// Decision is a verdict and the earliest time of the next one, zero if unknown.
type Decision struct {
	Verdict Verdict
	Class   scheduler.LossClass
	Until   time.Time
}

// Group is the context in which a loss is judged.
type Group struct {
	// Class is the worse of the host's class and, for a small host, the pool's.
	Class     scheduler.LossClass
	Documents int  // of the host, including those with a pending loss
	Ill       bool // the host is ill
	// HostGone is set if the host has given no good response for deletionGoneS.
	HostGone bool
	// Good is the time when another document of the host gave the last good response, Back when a loss of the host was
	// cancelled that had been seen more than once; zero if unknown.
	Good, Back time.Time
	scheduler.Deletions
}

// fresh is the greatest age of the last visit that saw a loss of class few. Without it, when an outage ends and its
// losses are cancelled one by one, the last ones would be few, and be carried out before their own pages are visited.
const fresh = 10 * time.Minute

// classDays is the number of counted visits that a loss of class most needs.
const classDays = 4

// Class returns the class of n losses in a group of so many documents. Both numbers include pending losses and those
// that were carried out within a day.
func Class(n, documents int) scheduler.LossClass {
	switch {
	case n <= max(2, documents/100):
		return scheduler.LossFew
	case n <= documents/5:
		return scheduler.LossSome
	}
	return scheduler.LossMost
}

// Decide is the rule (docs/deletions.md, "When a document leaves"). It is a pure function.
func Decide(d *scheduler.StoredDeletion, g *Group, now time.Time) Decision {
	class := g.Class
	if d.Reason == scheduler.ReasonItemGone { // its group is the list
		class = d.Least
	}
	if !d.Explicit {
		class = max(class, scheduler.LossSome)
	}
	alone := g.Documents <= 1 && visited(d)
	if alone && d.Replaces {
		class = max(class, scheduler.LossSome)
	}
	out := Decision{Class: class}
	switch {
	case g.Off, g.HostGone:
		out.Verdict = CarryOut
	case g.Ill, alone && !d.Replaces && d.Reason != scheduler.ReasonNotFound:
		out.Verdict = Hold
	default:
		out.Verdict, out.Until = decide(d, g, class, alone || !visited(d), now)
	}
	return out
}

// visited reports whether visits confirm a loss. Losses for the operator's rules are certain, and documents of an XML
// list are not fetched.
func visited(d *scheduler.StoredDeletion) bool {
	return !d.Reason.Operators() && d.Reason != scheduler.ReasonItemGone
}

// decide applies the rules of a class. trusted is set if no other document's response is needed.
func decide(
	d *scheduler.StoredDeletion, g *Group, class scheduler.LossClass, trusted bool, now time.Time,
) (Verdict, time.Time) {
	ready, seen := due(d, g, class, now)
	good := trusted || !g.Good.Before(d.Last)
	switch {
	case class == scheduler.LossSome && !trusted && d.WellDay == 0:
		if g.Good.Before(d.Counted) {
			return Ask, ready
		}
		return Mark, ready
	case !seen, class == scheduler.LossSome && !trusted && d.Days <= d.WellDay:
		return Wait, ready
	case visited(d) && (class == scheduler.LossFew && now.Sub(d.Last) > fresh || d.Last.Before(g.Back)):
		return Wait, time.Time{} // for its next visit: an outage may just have ended
	case good:
		return CarryOut, now
	}
	return Ask, now
}

// due returns the earliest time at which a class allows a loss to be carried out, and reports whether it was seen often
// and long enough.
func due(d *scheduler.StoredDeletion, g *Group, class scheduler.LossClass, now time.Time) (ready time.Time, seen bool) {
	last, days := d.Last, int(d.Days)
	if d.Reason.Operators() { // time alone confirms it
		last, days = now, classDays
	}
	switch class {
	case scheduler.LossFew:
		ready = d.First.Add(g.Rest)
		return ready, (d.Visits > 1 || d.Reason.Operators()) && !last.Before(ready)
	case scheduler.LossSome:
		if ready = d.First.Add(g.Confirm); visited(d) && (d.WellDay == 0 || d.Days <= d.WellDay) {
			ready = d.Counted.Add(g.Confirm)
		}
		return ready, days > 1 && !last.Before(d.First.Add(g.Confirm))
	case scheduler.LossMost:
	}
	least := g.Hold
	if !d.Explicit {
		least = g.Gone
	}
	ready = d.First.Add(least)
	if more := classDays - days; more > 0 {
		if at := d.Counted.Add(time.Duration(more) * g.Confirm); at.After(ready) {
			ready = at
		}
	}
	return ready, days >= classDays && !last.Before(d.First.Add(least))
}
