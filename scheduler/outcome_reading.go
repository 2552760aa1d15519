package scheduler

import "time"

// reading stores what the page asked for.
func (j *judgement) reading() {
	n := &j.c.Next
	n.Directives, n.UnavailableAt = j.result.Directives, j.result.UnavailableAt
	n.Signature, n.Overlap = j.result.Signature, j.result.Overlap
	j.c.Notes = append(j.c.Notes, j.result.Notes...)
}

// unavailable is why a document is deleted whose time has come.
const unavailable = "unavailable_after is over"

// expire makes a document due when its page becomes unavailable by its own word, at
// the latest. From then on it is deleted whatever else is known of it, unless the
// page was had again and says another time.
func expire(c *Completion, old *Record, set *Settings, now time.Time) {
	n := &c.Next
	switch {
	case n.UnavailableAt.IsZero() || !n.Indexed || c.Forget || c.Order != nil && c.Order.Op == OrderDelete:
	case c.Order == nil && !now.Before(n.UnavailableAt):
		n.Reason, n.LastError = ReasonUnavailable, unavailable
		c.CancelDeletion = false // or what rests already would begin to rest again
		c.Order, c.Forget = rest(n, old, 0, unavailable, set, now)
	case n.State != Timed || n.NextAt.After(n.UnavailableAt):
		n.State, n.NextAt = Timed, n.UnavailableAt
	}
}
