package scheduler

import (
	"fmt"
	"math"
	"time"
)

// redirect stores the redirect; its target goes to redir, shifted by the link's shift.
func (j *judgement) redirect() {
	j.settle(Redirect)
	j.c.Next.RedirectTo, j.c.Next.DuplicateOf, j.c.Next.Reason = j.result.Location, "", ReasonRedirect
	j.reading()
	j.remove("redirect to " + j.result.Location)
	j.compared(true, j.old.RedirectTo != j.result.Location)
	if j.result.Moved {
		j.again(spread(j.set.MaxAge, j.set, j.jitter))
	} else {
		j.refresh()
	}
	j.validators()
	if t := j.result.Redirect; t != nil && t.URL.String() != j.old.URL {
		j.c.Links = append(j.c.Links, j.target(*t))
	}
	j.c.Links = append(j.c.Links, j.result.Links...)
}

// target completes the link to a redirect's target.
func (j *judgement) target(t Link) Link {
	t.Fifo = shifted(Redir, int(t.Shift), Redir)
	t.Hops = max(t.Hops, j.old.Hops+min(1, math.MaxUint8-j.old.Hops))
	t.Alias = ""
	if j.set.IndexRedirectSources {
		t.Alias = j.old.URL
	}
	return t
}

// unchanged handles a 304: no document is pushed and no link is new. A page that redirects by a meta refresh still
// does. If a loss of the document is pending, the 304 shows that the document is the same again, since the request
// carried its validators.
func (j *judgement) unchanged() {
	switch n := &j.c.Next; {
	case j.old.Indexed:
		j.settle(OK)
		n.RedirectTo, n.DuplicateOf = "", ""
	case j.old.RedirectTo != "":
		j.settle(Redirect)
	default:
		j.settle(OK)
	}
	j.c.CancelDeletion = true
	if j.old.Class == OK && !j.old.LossPending { // the stored state of the page is still valid
		j.c.Next.LastError, j.c.Next.Reason = j.old.LastError, j.old.Reason
	}
	j.compared(true, false)
	j.refresh()
}

// page handles a 200: a document, pushed if it is new, or none.
func (j *judgement) page() {
	j.settle(OK)
	j.c.Next.RedirectTo, j.c.Next.DuplicateOf = "", j.result.DuplicateOf
	j.reading()
	j.validators()
	j.c.Links = j.result.Links
	j.c.Outlinks = DropOutlinks
	if j.set.LinkGraph && !j.old.Kind.IsSource() {
		j.c.Outlinks = ReplaceOutlinks
	}
	d := j.result.Document
	if d == nil {
		j.c.Next.LastError = j.result.NoDocument
		j.remove(j.absence())
		j.compareLinks()
		j.refresh()
		j.unsettled()
		return
	}
	j.compareDocument(d)
	j.refresh()
	if j.old.Indexed && j.old.Hash == d.Hash && j.old.PushedSource == d.Source && !j.set.PushUnchanged {
		j.c.CancelDeletion = true
		j.c.Next.MetasHash = d.MetasHash // the page itself had the same values
	} else {
		j.c.Order = addition(j.old, d)
		j.c.Next.holds(d)
	}
	switch {
	case d.MovesTo != nil:
		j.moves(*d.MovesTo)
	case j.old.MovePending(): // the rules in force leave it where it is
		j.c.CancelDeletion = true
	}
}

// moves keeps a document that is to leave a target. A move that no pass has found becomes pending now, and new content
// is pushed at the next visit. A pending text comes first.
func (j *judgement) moves(source string) {
	n, old := &j.c.Next, j.old
	switch {
	case old.MovesTo(source):
		j.c.CancelDeletion = false
		n.Reason, n.LastError = old.Reason, old.LastError
	case old.LossPending && old.Reason == ReasonNewText:
	default:
		changed := j.c.Order != nil
		j.c.Order, j.c.CancelDeletion = moving(n, old, source, j.edit, j.set, j.now), false
		if changed {
			j.timed(j.set.Deletions.Rest)
		}
	}
}

// unsettled schedules an early reading of a list that pending losses of its documents wait for.
func (j *judgement) unsettled() {
	if !j.result.Unsettled || j.set.Deletions.Off {
		return
	}
	n := &j.c.Next
	n.Misses = j.old.Misses + min(1, math.MaxUint8-j.old.Misses)
	n.ETag, n.LastModified, n.Date = "", "", ""
	pause := lossVisitPause(n.Misses, &j.set.Deletions)
	if n.State == Timed && n.NextAt.Before(j.now.Add(pause)) {
		return // its own age is shorter
	}
	j.timed(pause)
}

// validators stores the response's validators for the next conditional GET.
func (j *judgement) validators() {
	j.c.Next.ETag, j.c.Next.LastModified, j.c.Next.Date = j.result.ETag, j.result.LastModified, j.result.Date
}

// addition returns the order to index a document.
func addition(old *Record, d *Document) *Order {
	return &Order{Op: OrderAdd, Source: d.Source, Body: d.Body, Moved: old.Indexed && old.PushedSource != d.Source}
}

// absence returns the text for why a page has no document.
func (j *judgement) absence() string {
	switch {
	case j.result.DuplicateOf != "":
		return "duplicate of " + j.result.DuplicateOf
	case j.result.NoDocument != "":
		return j.result.NoDocument
	default:
		return fmt.Sprintf("status %d without a document", j.result.Status)
	}
}

// reading stores the page's directives.
func (j *judgement) reading() {
	n := &j.c.Next
	n.Directives, n.UnavailableAt = j.result.Directives, j.result.UnavailableAt
	n.Signature, n.Overlap = j.result.Signature, j.result.Overlap
	j.c.Notes = append(j.c.Notes, j.result.Notes...)
}

// unavailable is the reason for deleting a document after its unavailable_after.
const unavailable = "unavailable_after is over"

// expire makes a document due at the latest when its page becomes unavailable (unavailable_after). From then on it is
// deleted whatever else is known of it, unless the page was read again and names another time.
func expire(c *Completion, old *Record, set *Settings, now time.Time) {
	n := &c.Next
	switch {
	case n.UnavailableAt.IsZero() || !n.Indexed || c.Forget || c.Order != nil && c.Order.Op == OrderDelete:
	case c.Order == nil && !now.Before(n.UnavailableAt):
		n.Reason, n.LastError = ReasonUnavailable, unavailable
		c.CancelDeletion = false // a pending loss stays
		c.Order, c.Forget = lose(n, old, 0, unavailable, set, now)
	case n.State != Timed || n.NextAt.After(n.UnavailableAt):
		n.State, n.NextAt = Timed, n.UnavailableAt
	}
}
