package scheduler

import (
	"hash/fnv"
	"time"
)

// compareDocument compares a page's document with the page's last state, if known; it is unknown after exclusions and
// errors that deleted the document. If rules or the push source differ, the operator may have caused the change, and it
// does not count.
func (j *judgement) compareDocument(d *Document) {
	old := j.old
	known := old.Hash != [16]byte{}
	if !old.Indexed {
		known = old.Class == OK || old.Class == Redirect
	}
	changed := !old.Indexed || old.Hash != d.Hash
	ours := j.rejudged() || old.Indexed && old.PushedSource != d.Source
	j.compared(known && (!changed || !ours), changed)
}

// compareLinks compares a page that has no document by its links, whose hash is stored in place of the document's.
func (j *judgement) compareLinks() {
	if !j.set.SmartRefresh {
		j.compared(false, false)
		return
	}
	n := &j.c.Next
	if n.Hash = j.result.LinksHash; n.Hash == [16]byte{} {
		h := fnv.New128a()
		for i := range j.result.Links {
			_, _ = h.Write([]byte(j.result.Links[i].URL.String()))
			_, _ = h.Write([]byte{'\n'})
		}
		h.Sum(n.Hash[:0])
	}
	known := j.old.Indexed || j.old.Hash != [16]byte{}
	changed := j.old.Indexed || j.old.Hash != n.Hash
	j.compared(known && (!changed || !j.rejudged()), changed)
}

// rejudged reports whether the page was last judged by other rules.
func (j *judgement) rejudged() bool { return j.old.RulesVersion != j.result.RulesVersion }

// compared records that the page was read and, if known, whether it has changed. The first time there is no earlier
// state to compare with: only the page's own Last-Modified counts, up to the max age.
func (j *judgement) compared(known, changed bool) {
	n, quiet := &j.c.Next, quietBefore(j.result, j.now)
	switch {
	case j.old.CheckedAt.IsZero():
		n.History.Quiet = min(quiet, j.set.MaxAge)
	case known:
		n.History = n.History.observed(j.now.Sub(j.old.CheckedAt), quiet, changed)
	}
	n.CheckedAt = j.now
}

// refresh sets when a good URL is fetched again: by the estimate with smart refresh, after a fixed age with
// MinimumAged, else only on request.
func (j *judgement) refresh() {
	var d time.Duration
	if j.set.SmartRefresh {
		d = interval(j.set, j.c.Next.History, lateness(j.old, j.now), j.jitter)
	}
	j.again(d)
}

// again makes a good URL due after an interval, if good URLs are refreshed.
func (j *judgement) again(d time.Duration) {
	switch {
	case j.set.SmartRefresh:
	case j.set.MinimumAged > 0:
		d = j.set.MinimumAged
	default:
		j.c.Next.Interval = 0
		j.rest()
		return
	}
	j.c.Next.Interval = d
	j.timed(d)
}
