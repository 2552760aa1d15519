package review

import (
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// retiming describes how a pass changes when stored URLs are refetched: by settings of refresh, and by rules that allow
// more.
type retiming struct {
	settings *scheduler.Settings
	// retime changes the times of URLs, by settings in force since a time.
	retime bool
	since  time.Time
	reread *policy.Widening
	source scheduler.Source // the queue of pages to read again
	// now has documents that get other metas or another source fetched at once.
	now bool
}

// timed is the result for a URL's time.
type timed uint8

const (
	untimed timed = iota
	retimed       // it is due at another time
	reread        // it waits: it may have links that were outside
	renewed       // its next visit gives its document other metas, or another source
)

// retiming returns the effect on times of the pass by a policy, or nil if the pass belongs to another policy.
func (a *pass) retiming(p *policy.Policy) *retiming {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.Done || !a.state.by(p) {
		return nil
	}
	return newRetiming(p, a.state.Retime, a.state.At, a.state.Widened, a.state.Now)
}

func newRetiming(p *policy.Policy, retime bool, since time.Time, widened *policy.Widening, now bool) *retiming {
	g := &retiming{
		settings: &p.Settings.Frontier, retime: retime, since: since, reread: widened, source: scheduler.Refresh, now: now,
	}
	if g.settings.Weights[scheduler.Refresh] == 0 {
		g.source = scheduler.Index
	}
	return g
}

// timed returns the new time of a URL that the rules do not move.
func (o *review) timed(r *scheduler.Record) timed {
	_, t := o.time(*r)
	return t
}

// time returns the record with its new time, and the kind of change.
func (o *review) time(r scheduler.Record) (scheduler.Record, timed) {
	if o.retiming == nil || !o.Inside() || policy.Outside(&r) != 0 || r.State == scheduler.Waiting {
		return r, untimed
	}
	renews := o.renews(&r)
	if renews && o.retiming.now {
		r.State, r.Source, r.NextAt = scheduler.Waiting, o.fifo(&r), time.Time{}
		return r, renewed
	}
	if o.rereads(&r) {
		r.State, r.Source, r.NextAt = scheduler.Waiting, o.retiming.source, time.Time{}
		return r, reread
	}
	t := untimed
	if o.retiming.retime {
		if n, ok := scheduler.Retimed(r, o.link.URL.Key(), o.retiming.settings, o.retiming.since); ok {
			r, t = n, retimed
		}
	}
	if renews {
		return o.renew(r), renewed
	}
	return r, t
}

// renews reports whether rules or roots give a document other metas, or another source, than it was pushed with. Items
// of an XML list are read again with the list. Pages with a pending loss are fetched anyway, except for losses of
// edits. A document that will leave a target keeps its source until then.
func (o *review) renews(r *scheduler.Record) bool {
	return r.Kind == scheduler.KindPage && o.differs(r)
}

// differs is renews for documents of any kind.
func (o *review) differs(r *scheduler.Record) bool {
	switch {
	case o.retiming == nil || !o.indexed || o.rewritten || !r.Indexed:
		return false
	case r.Class != scheduler.OK || r.LossPending && !r.Reason.Operators() || r.State == scheduler.Waiting:
		return false
	}
	return r.MetasHash != o.metasHash || r.PushedSource != o.Decision.Source && !o.settings().Leaves(r, o.Decision.Source)
}

// renew schedules the refetch of a document that renews: within the age of its section, else at its next schedule or,
// if nothing refreshes it, after all new URLs.
func (o *review) renew(r scheduler.Record) scheduler.Record {
	u := o.link.URL
	switch {
	case o.retiming.settings.Of(u.String()).Ages():
		r, _ = scheduler.Sooner(r, u.Key(), o.retiming.settings, o.retiming.since)
	case !o.policy.Refreshed(u):
		r.State, r.Source, r.NextAt = scheduler.Waiting, o.retiming.source, time.Time{}
	}
	return r
}

// rereads reports whether a page must be read again, or a redirect requested again, because a link on it may be inside
// now. Pages with a refresh are read at their next one.
func (o *review) rereads(r *scheduler.Record) bool {
	p, u := o.policy, o.link.URL
	version := p.Version
	if r.Kind.IsSource() {
		version = p.SourceVersion(u.Key())
	}
	if r.State != scheduler.AtRest || r.Kind == scheduler.KindItem || r.RulesVersion == version || p.Refreshed(u) {
		return false
	}
	switch r.Class {
	case scheduler.OK:
		if r.Kind.IsSource() {
			return o.retiming.reread.Covers(r)
		}
		// A page in the fifo of those that are not followed was not.
		return o.Decision.Follow && (o.retiming.reread.Covers(r) || r.Fifo == scheduler.Index && o.fifo(r) != r.Fifo)
	case scheduler.Redirect:
		if !o.retiming.reread.Covers(r) || !p.MayFollow(r.RedirectTo) {
			return false
		}
		_, moves := p.RootOf(u) // the site follows a redirect of its home page
		return !moves
	case scheduler.Pending, scheduler.Ignored, scheduler.Temporary, scheduler.Permanent:
	}
	return false
}
