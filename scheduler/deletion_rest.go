package scheduler

import "time"

const (
	// askFirst is when a URL is asked again whose document is to go, doubled with each
	// visit up to askLongest: so a good answer cancels a deletion that rests or is held
	// without anybody's word.
	askFirst   = time.Hour
	askLongest = 24 * time.Hour
)

// rest is the order to delete a URL's document. While it rests the document counts as
// indexed: next keeps what old says of it, and what may be a mishap of the site is no
// evidence of how often the page changes. Where nothing is to rest it leaves at once.
// next.Reason says why; reason says it to people and to the indexer. Forget is as in
// Completion. There is no order where an edit deletes the document already: what one edit
// has held no other one lets leave.
func rest(next, old *Record, edit uint64, reason string, set *Settings, now time.Time) (o *Order, forget bool) {
	if set.Brake.On && old.Deletion != NoDeletion && old.Reason.Operators() && next.Reason.Operators() {
		keep(next, old)
		return nil, false
	}
	o = &Order{Op: OrderDelete, Source: old.PushedSource, Reason: next.Reason, Text: reason}
	if set.DeletionBody != nil {
		o.Body = set.DeletionBody(old.URL, reason, now)
	}
	if !set.Brake.On {
		return o, leave(next, set, now)
	}
	o.Deletion = DeletionResting
	if next.Reason.Operators() {
		o.Edit = edit
	}
	next.Deletion = DeletionResting
	keep(next, old)
	if next.Reason.Operators() || next.Kind == KindItem {
		return o, false // asking again changes nothing
	}
	next.Misses = old.Misses + min(1, 255-old.Misses)
	if next.Errors > 0 {
		return o, false // it is tried again when its back-off and its server let it
	}
	again := min(askFirst<<min(max(int(next.Misses)-1, 0), 8), askLongest)
	if at := now.Add(again); next.State == AtRest || next.State == Timed && next.NextAt.After(at) {
		next.State, next.NextAt = Timed, at
	}
	return o, false
}

// keep has a record tell of the document that it has.
func keep(next, old *Record) {
	next.ETag, next.LastModified, next.Date, next.History = old.ETag, old.LastModified, old.Date, old.History
	next.Hash = old.Hash
}

// Left completes a Revision that lets the deletion of old's document leave: what the record
// says from then on, and whether it is forgotten.
func (v *Revision) Left(old *Record, set *Settings, now time.Time) {
	at := now.Truncate(time.Second)
	if leave(&v.Next, set, now) {
		v.Forget, v.Gone = true, gone(old, &v.Next, at)
	}
	v.Next.stamp(old, at)
}

// leave is what a record says once the deletion of its document is on its way. A URL
// that is gone stays known and is asked for at growing intervals, and at once when a page
// links to it again; it says whether the record is to be forgotten instead.
func leave(next *Record, set *Settings, now time.Time) (forget bool) {
	next.Indexed, next.Hash, next.PushedSource, next.Deletion = false, [16]byte{}, "", NoDeletion
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
