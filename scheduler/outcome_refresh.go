package scheduler

import (
	"hash/fnv"
	"time"
)

// compareDocument compares a page's document with what the page was before. Where
// rules or the push source differ, a change may be the operator's: it tells nothing.
func (j *judgement) compareDocument(d *Document) {
	old := j.old
	changed := !old.Indexed || old.Hash != d.Hash
	switch {
	case old.Indexed && old.Hash == [16]byte{}: // not known what it was
		j.checked()
	case changed && (j.rejudged() || old.Indexed && old.PushedSource != d.Source):
		j.checked()
	default:
		j.compared(changed)
	}
}

// compareLinks compares a page that has no document: what matters of it is where
// it leads to. The hash of its links stands in for the document's.
func (j *judgement) compareLinks() {
	if !j.set.SmartRefresh {
		j.checked()
		return
	}
	h := fnv.New128a()
	for i := range j.result.Links {
		_, _ = h.Write([]byte(j.result.Links[i].URL.String()))
		_, _ = h.Write([]byte{'\n'})
	}
	n := &j.c.Next
	h.Sum(n.Hash[:0])
	changed := j.old.Indexed || j.old.Hash != n.Hash
	switch {
	case !j.old.Indexed && j.old.Hash == [16]byte{}, changed && j.rejudged():
		j.checked()
	default:
		j.compared(changed)
	}
}

// rejudged says that the page was excluded before, or judged by other rules.
func (j *judgement) rejudged() bool {
	return j.old.Class == Ignored || j.old.RulesVersion != j.result.RulesVersion
}

// compared notes that the page was had, and whether it is another than before. The
// first time there is nothing to compare with; then only the page itself tells
// for how long it has not changed, and is believed for no longer than the max age.
func (j *judgement) compared(changed bool) {
	n, quiet := &j.c.Next, quietBefore(j.result, j.now)
	if j.old.CheckedAt.IsZero() {
		n.History.Quiet = min(quiet, j.set.MaxAge)
	} else {
		n.History = n.History.observed(j.now.Sub(j.old.CheckedAt), quiet, changed)
	}
	j.checked()
}

func (j *judgement) checked() { j.c.Next.CheckedAt = j.now }

// refresh sets when a good URL is fetched again: by the estimate with smart
// refresh, after a fixed age with MinimumAged, else when somebody asks for it.
func (j *judgement) refresh() {
	switch n := &j.c.Next; {
	case j.set.SmartRefresh:
		j.again(interval(j.set, n.History, lateness(j.old, j.now), j.jitter))
	default:
		j.again(0)
	}
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
