package scheduler

import (
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// lossVisitPause returns the pause after a visit that saw a loss: Rest, then an hour, then what is left of Confirm, so
// that the fourth visit is a day after the first. Later visits are Confirm apart.
func lossVisitPause(visits uint8, d *Deletions) time.Duration {
	hour := min(time.Hour, d.Confirm/2)
	switch visits {
	case 0, 1:
		return d.Rest
	case 2:
		return hour
	case 3:
		return max(d.Confirm-hour, 0)
	}
	return d.Confirm
}

// lose returns the order to delete a URL's document. It is pending, and the document counts as indexed: next keeps
// old's state of it, and a possible failure of the site does not count as a change of the page. If losses are not
// confirmed, the document leaves at once. next.Reason is the reason; reason is its text for people and the target.
// Forget is as in Completion. lose returns no order if a pending loss for the operator's rules stays: see staysLost.
func lose(next, old *Record, edit uint64, reason string, set *Settings, now time.Time) (o *Order, forget bool) {
	off := set.Deletions.Off
	if !off && staysLost(old, next.Reason) {
		keep(next, old)
		return nil, false
	}
	o = &Order{Op: OrderDelete, Source: old.PushedSource, Reason: next.Reason, Text: reason}
	if set.DeletionBody != nil {
		o.Body = set.DeletionBody(old.URL, reason, now)
	}
	if off {
		return o, leave(next, set, now)
	}
	if next.Reason.Operators() && next.Reason != ReasonRenamed {
		o.Edit = edit
	}
	loss := NewLoss(explicit(next), now)
	o.Loss, o.Day = &loss, set.Deletions.Confirm
	keepPending(next, old, set, now)
	return o, false
}

// staysLost reports whether the pending loss of old's document stays although the document is to go for another reason.
// A loss that belongs to an edit of the rules stays with it: no other edit and no failure of the site carries it out,
// only the operator does. The exception is a move off a target, which becomes a deletion if the rules require one.
func staysLost(old *Record, found Reason) bool {
	switch {
	case !old.LossPending || !old.Reason.Operators():
		return false
	case found.Operators():
		return old.Reason != ReasonTarget
	}
	return old.Reason != ReasonRenamed
}

// explicit reports whether the page or its site itself asks for the document to go, judged by the record after the
// visit.
func explicit(n *Record) bool {
	if n.Reason == ReasonDNS {
		return n.Fault == fault.DNSNotFound
	}
	if n.Reason == ReasonRedirect {
		return isPermanent(n.Status)
	}
	return n.Reason != ReasonRenamed && (n.Reason.RequestsRemoval() || n.Reason.Operators() || n.Reason == ReasonMoved)
}

// isPermanent reports whether a status means a permanent redirect (RFC 9110, 15.4.2 and 15.4.9).
func isPermanent(status int) bool {
	return status == http.StatusMovedPermanently || status == http.StatusPermanentRedirect
}

// keepPending records in next that a loss of old's document is pending, and schedules the next visit.
func keepPending(next, old *Record, set *Settings, now time.Time) {
	next.LossPending = true
	keep(next, old)
	if next.Reason.Operators() || next.Kind == KindItem {
		return // asking again changes nothing
	}
	next.Misses = 1
	if old.LossPending {
		next.Misses = old.Misses + min(1, 255-old.Misses)
	}
	// Not before a temporary error's backoff ends, and not later than the page is due anyway.
	at := now.Add(lossVisitPause(next.Misses, &set.Deletions))
	if next.State != Timed || at.After(next.NextAt) == (next.Errors > 0) {
		next.State, next.NextAt = Timed, at
	}
}

// keep copies the document's fields from old to next.
func keep(next, old *Record) {
	next.Indexed, next.PushedSource = true, old.PushedSource
	next.ETag, next.LastModified, next.Date, next.History = old.ETag, old.LastModified, old.Date, old.History
	next.Hash, next.Sketch, next.Reading, next.Lively = old.Hash, old.Sketch, old.Reading, old.Lively
	next.MetasHash, next.LostAt, next.Before = old.MetasHash, old.LostAt, old.Before
	next.Signature, next.Overlap = old.Signature, old.Overlap
}

// CarryOut completes a Revision that carries out a loss of old's document: it sets the new record, and whether the URL
// is forgotten. If counted is set, it counts as a loss, and the URL is visited again soon.
func (v *Revision) CarryOut(d *StoredDeletion, old *Record, set *Settings, counted bool, now time.Time) {
	v.Move = SendDeletion
	n, at := &v.Next, now.Truncate(time.Second)
	if d.Reason == ReasonTarget {
		v.allowLeaving(d)
		return
	}
	lost := counted && !old.Reason.Operators() && old.Kind == KindPage && !set.Deletions.Off
	if d.Replaces {
		if lost {
			n.lost(at)
			if own := at.Add(n.Interval); n.Interval > 0 && own.Before(n.NextAt) {
				n.NextAt = own
			}
			if old.LostAt.IsZero() {
				n.Before = old.Sketch
			}
		}
		n.LossPending, n.Misses = false, 0
		n.Hash, n.Sketch, n.PushedSource, n.MetasHash = d.Hash, d.Sketch, d.Source, 0
		n.ETag, n.LastModified, n.Date = "", "", ""
		n.Lively += min(1, livelyAfter-n.Lively)
		n.stamp(old, at)
		return
	}
	if leave(n, set, now) {
		v.Forget, v.Gone = true, gone(old, n, at)
	} else if lost {
		n.lost(at)
	}
	n.stamp(old, at)
}

// lost records that a loss was carried out, and schedules an early visit.
func (n *Record) lost(at time.Time) {
	n.LostAt = at
	if n.State != Waiting {
		n.State, n.NextAt = Timed, at.Add(lostFirst)
	}
}

// livelyAfter is the number of replacements of a page's text in a row after which further ones are no longer losses.
const livelyAfter = 3

// A URL whose loss was carried out is visited again soon, since the cause may have been a fault.
const (
	lostFirst = time.Hour
	lostNext  = 4 * time.Hour
	lostThird = 24 * time.Hour
	// lostDaily is the approximate number of a host's losses that are visited each day, for lostFor after they were
	// carried out.
	lostDaily = 9
	lostFor   = 30 * 24 * time.Hour
)

// lostPause returns the time to the next visit of a document that was lost at a time, on a host with so many losses. 0:
// the usual time.
func lostPause(at, now time.Time, lost uint64, set *Settings) time.Duration {
	since := now.Sub(at)
	var due time.Duration // counted from the loss, so that other visits do not postpone it
	for _, next := range [...]time.Duration{lostFirst, lostNext, lostThird} {
		if due += next; since < due-time.Minute {
			return due - since
		}
	}
	if since > lostFor {
		return 0
	}
	return min(max(lostThird*time.Duration(min(lost, 1<<16))/lostDaily, lostThird), set.ErrorRefresh)
}

// leave updates a record when its document's deletion was sent. A URL that is gone stays known and is visited at
// growing intervals, and at once when a page links to it again. leave reports whether the record must be forgotten
// instead.
func leave(next *Record, set *Settings, now time.Time) (forget bool) {
	next.Indexed, next.Hash, next.PushedSource, next.LossPending = false, [16]byte{}, "", false
	next.Sketch, next.Reading, next.MetasHash, next.Lively = noSketch, 0, 0, 0
	next.LostAt, next.Before = time.Time{}, noSketch
	// Without validators the next GET returns the document, not a 304.
	next.ETag, next.LastModified, next.Date = "", "", ""
	if next.Class != Permanent && next.Class != Temporary || next.State == Waiting || next.Errors > 0 {
		return false
	}
	stays := next.Root || next.Kind.IsSource()
	if !stays && set.ForgetDeleted {
		return true
	}
	next.Misses = 1
	next.Gone = !stays
	next.State, next.NextAt = Timed, now.Add(missed(1, set))
	return false
}
