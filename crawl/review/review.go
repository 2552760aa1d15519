package review

import (
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// effect is the result of the rules in force for a stored URL.
type effect uint8

const (
	unaffected effect = iota
	excluded          // now 760
	elsewhere         // now 761
	readmitted        // back in its fifo
	moved             // in another fifo from now on
	unindexed         // crawled as before, but its document goes
	leaves            // crawled as before, but its document leaves a target
	kept              // its document was to go, and may stay
	reindexed         // it had no document, and may have one
)

// review is the effect of the rules in force on a stored URL. It is valid for any state of the URL when it is applied.
type review struct {
	policy.Verdict
	policy *policy.Policy
	// rewritten means that the URL has another name now, that of link.
	rewritten bool
	// returns means that an excluded URL may come back: all gates allow it.
	returns bool
	// indexed means that it may have a document; otherwise, or outside, reason and words explain why.
	indexed bool
	reason  scheduler.Reason
	words   string
	// newURL is the page's new URL, if it is outside because its site moved or because it has another name.
	newURL string
	// link is the URL as the gates see it, with the record's referrer.
	link      crawlspace.Link
	referrer  string
	gone      bool      // its XML file is no longer in the configuration
	metasHash uint32    // metas from rules and roots
	retiming  *retiming // nil if times do not change
}

// reviewOf judges a stored URL as the background pass does: without the depths,
// which count when a URL is taken.
func reviewOf(p *policy.Policy, u weburl.URL, r *scheduler.Record) review {
	return reviewWith(p, u, r, new(actionrules.Scratch))
}

// reviewWith is reviewOf with reused memory.
func reviewWith(p *policy.Policy, u weburl.URL, r *scheduler.Record, s *actionrules.Scratch) review {
	link := policy.Recorded(u, r)
	if r.Kind.IsSource() {
		return review{
			Verdict: p.JudgeSource(u, r.HostSpelling), policy: p, returns: true, reason: scheduler.ReasonSource,
			words: policy.SourceDetail, link: link,
		}
	}
	o := review{policy: p, link: link, referrer: r.Referrer, gone: p.ListGone(r)}
	if o.Verdict, o.metasHash = p.JudgeStored(link, s); o.Inside() && r.Indexed && policy.Outside(r) == 0 {
		// The depth counts: documents beyond it are lost at once. A new root may still have the depth of a link.
		if !p.Passes(link) && !p.IsRoot(u) {
			o.Verdict = p.Judge(link)
		}
	}
	o.rewritten = o.URL.Key() != u.Key()
	if o.Inside() && o.rewritten {
		p.Rename(&o.Verdict, u)
	}
	if !o.Inside() {
		o.reason, o.newURL = p.Reason(&o.Verdict), p.NewURL(&o.Verdict)
		return o
	}
	if policy.Outside(r) != 0 {
		full := p.Judge(link)
		o.returns = full.Inside()
	}
	o.indexed, o.reason, o.words = p.IndexesStored(&o.Verdict, r)
	return o
}

// explain finds the reason's text, which takes longer than the verdict.
func (o *review) explain() {
	if !o.Inside() {
		o.words = o.policy.Detail(&o.Verdict)
	}
}

// effect is deterministic for a record and a review, and idempotent.
func (o *review) effect(r *scheduler.Record) effect {
	was := policy.Outside(r)
	switch {
	case !o.Inside() && o.Status == was && !o.follows(r):
		return unaffected
	case o.Status == policy.StatusExcluded:
		return excluded
	case o.Status == crawlspace.StatusElsewhere:
		return elsewhere
	case was != 0 && o.returns:
		return readmitted
	case was != 0:
		return unaffected
	case r.Indexed && !o.indexed && !o.pends(r):
		return unindexed
	case o.indexed && o.moves(r):
		return leaves
	case o.indexed && r.LossPending &&
		(byRules(r.Reason) || r.Reason == scheduler.ReasonTarget && !o.settings().Leaves(r, o.Decision.Source)):
		return kept
	case o.indexed && unwanted(r) && !r.Indexed && r.State != scheduler.Waiting &&
		r.Kind != scheduler.KindItem: // the document of an item is in its list
		return reindexed
	case o.fifo(r) != r.Fifo:
		return moved
	}
	return unaffected
}

// pends reports whether the document of a URL that is not indexed is already to be deleted: for the same reason, or
// because robots.txt forbids it, in which case the rules are applied when it may be requested again.
func (o *review) pends(r *scheduler.Record) bool {
	return r.LossPending && (r.Reason == o.reason || r.Reason == scheduler.ReasonRobots)
}

// moves reports whether a document is to leave a target and that is not pending yet. While another loss is pending, a
// visit decides first.
func (o *review) moves(r *scheduler.Record) bool {
	return r.Indexed && !o.rewritten && !r.BodyLost() && (!r.LossPending || r.Reason == scheduler.ReasonTarget) &&
		o.settings().Leaves(r, o.Decision.Source) && !r.MovesTo(o.Decision.Source)
}

func (o *review) settings() *scheduler.Settings { return &o.policy.Settings.Frontier }

// loses reports whether the operator's rules remove a document from the index, or from a target, and no such loss is
// pending yet.
func (o *review) loses(r *scheduler.Record, e effect) bool {
	switch {
	case !r.Indexed || r.LossPending && r.Reason.Operators() && e != leaves:
		return false
	case e == excluded, e == unindexed:
		return o.reason.Operators() && o.reason != scheduler.ReasonRenamed
	default:
		return e == leaves
	}
}

// follows reports whether the deletion of a URL that is outside already waits for another page, or
// no longer for one: its site has moved, or moved on, or its root is gone, or its name is another one.
func (o *review) follows(r *scheduler.Record) bool {
	switch {
	case !r.Indexed || o.Status != policy.StatusExcluded:
		return false
	case o.reason == scheduler.ReasonMoved:
		return r.Reason != o.reason || r.RedirectTo != o.newURL
	case o.reason == scheduler.ReasonRenamed && r.Reason == o.reason:
		return r.RedirectTo != o.newURL
	}
	return r.Reason == scheduler.ReasonMoved
}

// unwanted reports whether a page was read, and has no document, or loses it, only because of the operator's rules or
// kill list.
func unwanted(r *scheduler.Record) bool {
	return r.Class == scheduler.OK && byRules(r.Reason)
}

// byRules reports whether a page that is fetched has no document for a reason that only the operator's rules or kill
// list cause.
func byRules(r scheduler.Reason) bool {
	return slices.Contains([]scheduler.Reason{
		scheduler.ReasonNotIndexed, scheduler.ReasonKilled, scheduler.ReasonListGone, scheduler.ReasonNoTarget,
	}, r)
}

// fifo returns the fifo that the rules choose for a stored URL. One that was never fetched stays in the fifo of
// redirects or of the user's roots.
func (o *review) fifo(r *scheduler.Record) scheduler.Source {
	if r.FetchedAt.IsZero() && (r.Root || r.Hops > 0) {
		return r.Fifo
	}
	return policy.FifoOf(o.Decision)
}

// change applies the review to a record; it returns nil if nothing changes.
func (o *review) change(r *scheduler.Record) *scheduler.Change {
	c := &scheduler.Change{Next: *r}
	n := &c.Next
	e := o.effect(r)
	switch e {
	case unaffected:
	case excluded:
		o.rest(n)
		c.Delete = o.words
	case elsewhere:
		o.rest(n)
		c.CancelDeletion = true
	case readmitted:
		n.Fifo = o.fifo(r)
		n.State, n.Source = scheduler.Waiting, n.Fifo
		n.Class, n.Status, n.Reason, n.LastError = scheduler.Pending, 0, scheduler.NoReason, ""
		c.CancelDeletion = true
		if r.Kind == scheduler.KindItem { // its feed, which is read again by the new rules, has its document
			n.State = scheduler.AtRest
		}
	case unindexed:
		n.Fifo = o.fifo(r)
		n.Reason, n.LastError = o.reason, o.words
		c.Delete = o.words
	case leaves:
		n.Fifo = o.fifo(r)
		c.MovesTo = &o.Decision.Source
	case kept:
		n.Fifo = o.fifo(r)
		n.Reason, n.LastError = scheduler.NoReason, ""
		c.CancelDeletion = true
	case reindexed:
		n.Fifo = o.fifo(r)
		n.State, n.Source = scheduler.Waiting, n.Fifo
	case moved:
		n.Fifo = o.fifo(r)
	}
	if n.State != scheduler.Waiting {
		switch later, t := o.time(*r); {
		case c.Delete != "" && t != retimed: // no visit while its document is pending
		case t != untimed && !sameTime(&later, r):
			n.State, n.Source, n.NextAt, n.Interval = later.State, later.Source, later.NextAt, later.Interval
		case e == unaffected:
			return nil
		}
	}
	return c
}

// sameTime reports whether the time of a URL's next fetch does not change.
func sameTime(a, b *scheduler.Record) bool {
	return a.State == b.State && a.Source == b.Source && a.NextAt.Equal(b.NextAt) && a.Interval == b.Interval
}

// rest puts a URL that is out of scope to rest.
func (o *review) rest(n *scheduler.Record) {
	n.State, n.NextAt = scheduler.AtRest, time.Time{}
	n.Class, n.Status, n.Reason, n.LastError, n.Settled = scheduler.Ignored, o.Status, o.reason, o.words, true
	n.Errors, n.FirstErrorAt = 0, time.Time{}
	n.RulesVersion = o.policy.Version
	if o.newURL != "" {
		n.RedirectTo = o.newURL
	}
}
