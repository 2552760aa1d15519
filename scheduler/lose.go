package scheduler

import (
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// askAfter are the pauses after the first visits that saw a loss: Rest, then an hour, then what
// is left of Confirm, so that the fourth visit is a day after the first one. Later ones follow each
// other at Confirm.
func askAfter(visits uint8, d *Deletions) time.Duration {
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

// lose is the order to delete a URL's document. It is pending, and the document counts as indexed:
// next keeps what old says of it, and what may be a mishap of the site is no evidence of how often
// the page changes. Where losses are not confirmed the document leaves at once.
// next.Reason says why; reason says it to people and to the indexer. Forget is as in Completion.
// There is no order where a loss for the operator's rules is pending that stays: see staysLost.
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

// staysLost reports whether the pending loss of old's document stays as it is although the document is to go for
// another reason. What an edit of the rules has pending no other edit carries out, and no fault of a site takes it from
// its edit: it waits for the operator. Only a move off a target becomes a deletion if the rules want that.
func staysLost(old *Record, found Reason) bool {
	switch {
	case !old.LossPending || !old.Reason.Operators():
		return false
	case found.Operators():
		return old.Reason != ReasonTarget
	}
	return old.Reason != ReasonRenamed
}

// explicit reports whether the page or its site itself says that the document is to go, by the
// record that a visit made.
func explicit(n *Record) bool {
	if n.Reason == ReasonDNS {
		return n.Fault == fault.DNSNotFound
	}
	if n.Reason == ReasonRedirect {
		return isPermanent(n.Status)
	}
	return n.Reason != ReasonRenamed && (n.Reason.Asks() || n.Reason.Operators() || n.Reason == ReasonMoved)
}

// isPermanent reports whether a status moves a page for good (RFC 9110, 15.4.2 and 15.4.9).
func isPermanent(status int) bool {
	return status == http.StatusMovedPermanently || status == http.StatusPermanentRedirect
}

// keepPending notes in next that a loss of old's document is pending, and has the URL asked for again.
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
	// Not before the back-off of a temporary error is over, and not later than the page is due anyway.
	at := now.Add(askAfter(next.Misses, &set.Deletions))
	if next.State != Timed || at.After(next.NextAt) == (next.Errors > 0) {
		next.State, next.NextAt = Timed, at
	}
}

// keep has a record tell of the document that it has.
func keep(next, old *Record) {
	next.Indexed, next.PushedSource = true, old.PushedSource
	next.ETag, next.LastModified, next.Date, next.History = old.ETag, old.LastModified, old.Date, old.History
	next.Hash, next.Sketch, next.Reading, next.Lively = old.Hash, old.Sketch, old.Reading, old.Lively
	next.Given, next.LostAt, next.Before = old.Given, old.LostAt, old.Before
	next.Signature, next.Overlap = old.Signature, old.Overlap
}

// CarryOut completes a Revision that carries out a loss of old's document: what the record says
// from then on, and whether it is forgotten. Counted says that it counts as a loss, so that its URL
// is asked for again soon.
func (v *Revision) CarryOut(d *StoredDeletion, old *Record, set *Settings, counted bool, now time.Time) {
	v.Move = SendDeletion
	n, at := &v.Next, now.Truncate(time.Second)
	if d.Reason == ReasonTarget {
		v.letGo(d)
		return
	}
	lost := counted && !old.Reason.Operators() && old.Kind == KindPage && !set.Deletions.Off
	if d.Replaces {
		if lost {
			n.lost(at)
			if old.LostAt.IsZero() {
				n.Before = old.Sketch
			}
		}
		n.LossPending, n.Misses = false, 0
		n.Hash, n.Sketch, n.PushedSource, n.Given = d.Hash, d.Sketch, d.Source, 0
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

// lost notes that a loss was carried out, and has the URL asked for again soon.
func (n *Record) lost(at time.Time) {
	n.LostAt = at
	if n.State != Waiting {
		n.State, n.NextAt = Timed, at.Add(lostFirst)
	}
}

// livelyAfter is how many replacements of a page's text must have been carried out one after the
// other before further ones are no losses.
const livelyAfter = 3

// A document that was carried out as a loss is asked for again soon: it may have been a fault.
const (
	lostFirst = time.Hour
	lostNext  = 4 * time.Hour
	lostThird = 24 * time.Hour
	// lostDaily is about how many of a host's losses are asked for each day, for as long as
	// lostFor after they were carried out.
	lostDaily = 9
	lostFor   = 30 * 24 * time.Hour
)

// lostPause is how long to wait before a document is asked for again that was lost at a time; of its
// host so many are lost. 0: no sooner than others.
func lostPause(at, now time.Time, lost uint64, set *Settings) time.Duration {
	since := now.Sub(at)
	var due time.Duration // reckoned from the loss: other visits in between put none of these off
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

// leave is what a record says once the deletion of its document is on its way. A URL
// that is gone stays known and is asked for at growing intervals, and at once when a page
// links to it again; it says whether the record is to be forgotten instead.
func leave(next *Record, set *Settings, now time.Time) (forget bool) {
	next.Indexed, next.Hash, next.PushedSource, next.LossPending = false, [16]byte{}, "", false
	next.Sketch, next.Reading, next.Given, next.Lively = noSketch, 0, 0, 0
	next.LostAt, next.Before = time.Time{}, noSketch
	// Without these the next GET brings the document back, not a 304.
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
