package scheduler

import (
	"encoding/binary"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Retimed gives a stored URL the time that the present settings imply. It returns false, and the unchanged record, if
// nothing changes. A URL at rest becomes due if it must be refreshed; one that is due too late becomes due sooner; one
// that is no longer refreshed rests. since is the time when the settings came into force: the new times are spread
// evenly over the age from then on, by key, so that a second call changes nothing. URLs that wait, that are retried
// after temporary errors, or that are visited to confirm a loss keep their times.
func Retimed(rec Record, k weburl.Key, set *Settings, since time.Time) (Record, bool) {
	if rec.State == Waiting || rec.Errors > 0 || rec.Kind == KindItem || rec.LossPending && !rec.Reason.Operators() {
		return rec, false
	}
	set = set.Of(rec.URL)
	switch rec.Class {
	case OK, Redirect:
		return retimedGood(rec, k, set, since)
	case Permanent, Temporary:
		return sooner(rec, spreadOver(since, since.Add(missed(rec.Misses, set)), k), since.Add(missed(rec.Misses, set)))
	case Ignored:
		if rec.Status == 0 { // robots.txt, or an address that the guard refuses
			return sooner(rec, spreadOver(since, since.Add(set.ErrorRefresh), k), since.Add(set.ErrorRefresh))
		}
	case Pending:
	}
	return rec, false
}

func retimedGood(rec Record, k weburl.Key, set *Settings, since time.Time) (Record, bool) {
	minAge, maxAge := set.ages()
	ends := time.Time{}
	if rec.Indexed {
		ends = rec.UnavailableAt
	}
	if maxAge == 0 {
		return unrefreshed(rec, ends)
	}
	had := rec.FetchedAt
	if rec.CheckedAt.After(had) {
		had = rec.CheckedAt
	}
	last := since.Add(maxAge)
	first := since
	if due := had.Add(minAge); due.After(first) && due.Before(last) {
		first = due
	}
	at := spreadOver(first, last, k)
	if rec.State == AtRest {
		rec.State, rec.NextAt = Timed, at
		if !ends.IsZero() && ends.Before(at) {
			rec.NextAt = ends
		}
		rec.Interval = max(rec.NextAt.Sub(had), 0) // late from then on, not before
		return rec, true
	}
	later, ok := sooner(rec, at, last)
	if ok {
		later.Interval = max(at.Sub(had), 0)
	}
	return later, ok
}

// unrefreshed returns the record of a good page that is no longer refreshed.
func unrefreshed(rec Record, ends time.Time) (Record, bool) {
	if rec.State != Timed || rec.NextAt.Equal(ends) {
		return rec, false
	}
	rec.Interval = 0
	if ends.IsZero() {
		rec.State, rec.NextAt = AtRest, time.Time{}
	} else {
		rec.NextAt = ends
	}
	return rec, true
}

// sooner makes a timed URL due at a time if it is due after last.
func sooner(rec Record, at, last time.Time) (Record, bool) {
	if rec.State != Timed || !rec.NextAt.After(last) {
		return rec, false
	}
	rec.NextAt = at
	return rec, true
}

// spreadOver returns a time between two, as far along as the key, which is a hash, is among all keys.
func spreadOver(from, to time.Time, k weburl.Key) time.Time {
	c := k.Chance()
	part := float64(binary.BigEndian.Uint32(c[:])) / (1 << 32)
	return from.Add(time.Duration(part * float64(to.Sub(from)))).UTC()
}

// Sooner makes a good URL due within the age that the settings give it, spread as by Retimed. It returns false if the
// URL is due by then, waits, is retried, or has no such age.
func Sooner(rec Record, k weburl.Key, set *Settings, since time.Time) (Record, bool) {
	_, maxAge := set.Of(rec.URL).ages()
	if maxAge == 0 || rec.State == Waiting || rec.Errors > 0 {
		return rec, false
	}
	last := since.Add(maxAge)
	return sooner(rec, spreadOver(since, last, k), last)
}

// Hinted makes a timed URL due that, by a sitemap's lastmod, has changed since it was last fetched: at once, but not
// before MinAge has passed. It returns false, and the unchanged record, if the lastmod is old or not credible (in the
// future, or the time at which the sitemap was generated), if hints are off, and for URLs that wait for another reason:
// never fetched, retried after errors, or excluded. It stores nothing; Frontier.Revise does.
func Hinted(rec Record, lastmod time.Time, set *Settings, now time.Time) (Record, bool) {
	set = set.Of(rec.URL)
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
