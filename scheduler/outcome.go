package scheduler

import (
	"fmt"
	"math"
	"time"
)

// Bounds of the delays after temporary errors.
const (
	retryFirst   = time.Minute    // after the first temporary error in a row, then doubled
	RetryLongest = 6 * time.Hour  // before jitter, which adds up to a quarter
	afterLongest = 24 * time.Hour // longest Retry-After that is obeyed
)

// judgement turns one result into a Completion. It is a pure function of the record, the result, the settings, the time
// and the jitter.
type judgement struct {
	old    *Record
	result *Result
	set    *Settings
	edit   uint64 // the edit that deletions for the operator's rules belong to
	now    time.Time
	jitter float64 // 0 up to 1
	c      Completion
	// removes is set if the URL's document, if any, is to go; reason is the text for the target.
	removes bool
	reason  string
}

// outcome decides what follows from a result. The caller sets Place, Seq and Host of the Completion.
//
// A deletion that follows is pending (lose): the document stays until the DeletionOwner carries the loss out.
//
// "First crawl" means that no lasting outcome of the URL is stored (Record.Settled is false), "on refresh" that one is:
// a document, a redirect, an exclusion or a remembered error. A URL that the operator re-queues is also refreshed.
func outcome(old *Record, r *Result, set *Settings, edit uint64, now time.Time, jitter float64) Completion {
	set = set.Of(old.URL)
	j := judgement{old: old, result: r, set: set, edit: edit, now: now, jitter: jitter, c: Completion{Next: *old}}
	kind := classify(r, set.Policy)
	if kind == answerPage && isLoginInstead(old, r) {
		kind = answerTemporary
	}
	if kind != answerExcluded {
		j.c.Next.FetchedAt = now
		if old.Kind == KindItem {
			j.c.Next.Kind = KindPage // the page itself was requested
		}
	}
	if (kind != answerExcluded || r.Excluded.Status == 0) && r.Decided < Refresh {
		j.c.Next.Fifo = r.Decided // robots.txt alone forbids it
	}
	switch kind {
	case answerGuarded, answerTemporary: // no links were read
	case answerPage, answerUnchanged, answerRedirect, answerExcluded, answerPermanent:
		j.c.Next.RulesVersion = r.RulesVersion
	}
	j.c.Next.Status, j.c.Next.LastError, j.c.Next.Fault, j.c.Next.Reason = r.Status, r.Words, r.Fault, r.Reason
	if r.MediaType != "" {
		j.c.Next.MediaType = r.MediaType
	}
	switch kind {
	case answerExcluded:
		j.excluded()
	case answerGuarded:
		j.guarded()
	case answerTemporary:
		j.temporary()
	case answerPermanent:
		j.permanent()
	case answerRedirect:
		j.resetMisses()
		j.redirect()
	case answerUnchanged:
		j.resetMisses()
		j.unchanged()
	case answerPage:
		j.resetMisses()
		j.page()
	}
	if j.removes && old.Indexed {
		j.c.Order, j.c.Forget = lose(&j.c.Next, old, j.edit, j.reason, set, now)
	}
	if kind != answerExcluded {
		expire(&j.c, old, set, now)
	}
	j.still()
	return j.c
}

// still keeps two states that a failed visit does not end: a document that was lost before it was sent, until it is
// sent or deleted, and a pending loss for the operator's rules.
func (j *judgement) still() {
	n, old := &j.c.Next, j.old
	switch {
	case !n.Indexed || j.c.Order != nil:
	case old.BodyLost():
		n.Reason = ReasonBodyLost
	case !j.c.CancelDeletion && (old.MovePending() || !n.Reason.Operators() && staysLost(old, n.Reason)):
		n.Reason, n.LastError = old.Reason, old.LastError
	}
}

// excluded handles a URL that may not be crawled: its document goes. A URL that rules exclude rests until they change;
// one that robots.txt forbids (no status) is visited again, since robots.txt can change unnoticed.
func (j *judgement) excluded() {
	j.settle(Ignored)
	j.rest()
	if j.result.Excluded.Status == 0 {
		j.timed(j.set.ErrorRefresh)
	}
	x := j.result.Excluded
	j.c.Next.Status, j.c.Next.LastError, j.c.Next.Reason = x.Status, x.Words, x.Reason
	if x.MovedTo != "" {
		j.c.Next.RedirectTo = x.MovedTo
	}
	if x.Keep {
		j.c.CancelDeletion = true
	} else {
		j.remove(x.Words)
	}
}

// guarded handles a refused address: no error is counted and no document deleted, since the name may resolve
// differently later.
func (j *judgement) guarded() {
	j.c.Next.FetchedAt = j.old.FetchedAt
	j.c.Next.Class, j.c.Next.Reason = Ignored, ReasonAddress
	j.timed(j.set.ErrorRefresh)
	j.c.Next.Settled = true
}

// temporary retries after a growing pause. After too many errors the URL counts as permanent until the page is fetched
// successfully.
func (j *judgement) temporary() {
	n := &j.c.Next
	if n.Class != Permanent {
		n.Class = Temporary
	}
	j.failed()
	n.Errors++
	if n.FirstErrorAt.IsZero() || n.FirstErrorAt.After(j.now) { // the clock was set back
		n.FirstErrorAt = j.now
	}
	tooMany := n.Errors >= j.set.MaxTemporaryErrors && j.now.Sub(n.FirstErrorAt) >= j.set.TemporaryErrorMin
	switch {
	case tooMany:
		j.final()
	default:
		j.timed(retryAfter(n.Errors, j.result, j.jitter))
		if j.set.Policy == Smartsite || j.result.silent { // a host may be too slow for all retries within deletionGoneS
			j.remove(j.failure())
		}
	}
}

// retryAfter returns the pause after the nth temporary error in a row. Jitter only lengthens it, so it is never shorter
// than the server's Retry-After.
func retryAfter(n int, r *Result, jitter float64) time.Duration {
	pause := retryFirst << min(max(n-1, 0), 16)
	pause = min(pause, RetryLongest)
	pause += time.Duration(jitter * float64(pause) / 4)
	if r.HasRetryAfter {
		pause = max(pause, min(r.RetryAfter, afterLongest))
	}
	return pause
}

// failed records why the visit failed.
func (j *judgement) failed() {
	n := &j.c.Next
	if n.Reason == NoReason {
		n.Reason = reasonOf(n.Fault, n.Status)
	}
	if j.result.LoginPage {
		n.Reason = ReasonLogin
	}
}

// permanent handles a permanent error: final at once.
func (j *judgement) permanent() {
	j.failed()
	j.final()
}

// Bounds of the visits to a URL that is gone.
const (
	// missLongest is the longest time between two of them.
	missLongest = 90 * 24 * time.Hour
	// A URL is forgotten after missVisits that gave a permanent error, but not before
	// missTime has passed.
	missVisits = 5
	missTime   = 30 * 24 * time.Hour
)

// final handles an error that is not retried soon. The document goes; the record stays and is visited ever less often,
// so that a page that returns is found even if no page with a link to it changes. Roots stay regardless of their
// response, since they are the operator's own links. (Exalead CloudView forgets at once: forgetDeleted.)
func (j *judgement) final() {
	n, old := &j.c.Next, j.old
	j.remove(j.failure())
	n.Misses = old.Misses + min(1, math.MaxUint8-old.Misses)
	onRefresh := old.Settled
	j.settle(Permanent)
	stays := old.Root || old.Kind.IsSource() // a sitemap may not be named a second time
	switch {
	case stays:
		j.timed(j.set.ErrorRefresh)
	case old.Indexed: // its loss is pending
		j.timed(missed(n.Misses, j.set))
	case j.set.ForgetDeleted && onRefresh, j.lost():
		j.c.Forget = true
	default:
		j.timed(missed(n.Misses, j.set))
		n.Gone = onRefresh
	}
}

// missed returns the time to the next visit after a number of permanent errors in a row.
func missed(misses uint8, set *Settings) time.Duration {
	d := set.ErrorRefresh
	for i := uint8(1); i < misses && d < missLongest; i++ {
		d *= 2
	}
	return min(d, max(missLongest, set.ErrorRefresh))
}

// lost reports whether the URL has failed so often and for so long that it may be forgotten.
func (j *judgement) lost() bool {
	since := j.old.ClassAt
	failed := j.old.Class == Permanent || j.old.Class == Temporary
	return j.c.Next.Misses >= missVisits && failed && !since.IsZero() && j.now.Sub(since) >= missTime
}

// settle stores a lasting outcome and ends the errors in a row.
func (j *judgement) settle(c Class) {
	n := &j.c.Next
	n.Class, n.Settled, n.Errors, n.FirstErrorAt = c, true, 0, time.Time{}
}

// remove marks the URL's document, if any, for deletion.
func (j *judgement) remove(reason string) { j.removes, j.reason = true, reason }

// resetMisses clears the count of misses, because the page exists.
func (j *judgement) resetMisses() { j.c.Next.Misses, j.c.Next.Gone = 0, false }

// isLoginInstead reports whether a log-in page was returned in place of a document.
func isLoginInstead(old *Record, r *Result) bool {
	return r.LoginPage && old.Indexed && (r.Document == nil || r.Document.Hash != old.Hash)
}

// failure returns the text of the error for the deletion order.
func (j *judgement) failure() string {
	switch {
	case j.result.Words != "":
		return j.result.Words
	case j.result.Status != 0:
		return fmt.Sprint("status ", j.result.Status)
	default:
		return "cannot be fetched"
	}
}

func (j *judgement) rest() { j.c.Next.State, j.c.Next.NextAt = AtRest, time.Time{} }

func (j *judgement) timed(pause time.Duration) {
	j.c.Next.State, j.c.Next.NextAt = Timed, j.now.Add(pause)
}
