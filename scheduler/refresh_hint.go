package scheduler

import "time"

// Hinted makes a timed URL due that has changed since it was last fetched, as a
// sitemap says by its lastmod: at once, but not before MinAge has passed. It returns
// false, and the record as it was, where that is nothing new or not to be believed
// (in the future, or the time at which the sitemap was made for us), where hints
// are off, and for URLs that wait for another reason: never fetched, tried again
// after errors, or excluded. It changes nothing that is stored; that is
// Frontier.Revise's part.
func Hinted(rec Record, lastmod time.Time, set *Settings, now time.Time) (Record, bool) {
	had := rec.FetchedAt
	if rec.CheckedAt.After(had) {
		had = rec.CheckedAt
	}
	switch {
	case !set.SitemapHints, rec.State != Timed, rec.Errors > 0,
		rec.Class == Pending, rec.Class == Ignored,
		!lastmod.After(had), now.Sub(lastmod) < dateGrain:
		return rec, false
	}
	due := had.Add(set.MinAge)
	if due.Before(now) {
		due = now
	}
	if !due.Before(rec.NextAt) {
		return rec, false
	}
	rec.NextAt = due
	return rec, true
}
