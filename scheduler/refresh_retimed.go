package scheduler

import (
	"encoding/binary"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Retimed gives a stored URL the time that the settings want, where those say something else
// about it than when it was stored; it gives false, and the record as it was, where they do
// not. What rests, though it is to be refreshed, becomes due; what is due later than the
// settings allow becomes due sooner; what is due, though it is to be refreshed no more,
// rests. Since is when the settings came into force: the new times are spread evenly over the
// age from then on, by key, so that asking again changes nothing. URLs that wait, that are
// tried again after temporary errors, or that are visited to confirm a loss keep their times.
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
		rec.Interval = max(rec.NextAt.Sub(had), 0) // it is late from then on, not before
		return rec, true
	}
	later, ok := sooner(rec, at, last)
	if ok {
		later.Interval = max(at.Sub(had), 0)
	}
	return later, ok
}

// unrefreshed is the record of a good page that is refreshed no more.
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

// sooner makes a timed URL due at a time if it is due after the last one that may be.
func sooner(rec Record, at, last time.Time) (Record, bool) {
	if rec.State != Timed || !rec.NextAt.After(last) {
		return rec, false
	}
	rec.NextAt = at
	return rec, true
}

// spreadOver is a time between two, as far along as the key is, which is a hash, among keys.
func spreadOver(from, to time.Time, k weburl.Key) time.Time {
	c := k.Chance()
	part := float64(binary.BigEndian.Uint32(c[:])) / (1 << 32)
	return from.Add(time.Duration(part * float64(to.Sub(from)))).UTC()
}

// Sooner makes a good URL due within the age that the settings give it, spread as by Retimed; it
// gives false where it is due by then, waits, is tried again, or has no such age.
func Sooner(rec Record, k weburl.Key, set *Settings, since time.Time) (Record, bool) {
	_, maxAge := set.Of(rec.URL).ages()
	if maxAge == 0 || rec.State == Waiting || rec.Errors > 0 {
		return rec, false
	}
	last := since.Add(maxAge)
	return sooner(rec, spreadOver(since, last, k), last)
}

// Hinted makes a timed URL due that has changed since it was last fetched, as a
// sitemap says by its lastmod: at once, but not before MinAge has passed. It returns
// false, and the record as it was, where that is nothing new or not to be believed
// (in the future, or the time at which the sitemap was made for us), where hints
// are off, and for URLs that wait for another reason: never fetched, tried again
// after errors, or excluded. It changes nothing that is stored; that is
// Frontier.Revise's part.
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
