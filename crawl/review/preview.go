package review

import (
	"context"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// Preview is the effect of new settings on the stored URLs. Links that they would newly allow are unknown, because
// ignored links are not stored. The names are a contract.
type Preview struct {
	// Rules identifies the new rules, Before those by which the stored URLs were last judged, empty if none.
	Rules  string `json:"rules"`
	Before string `json:"before"`
	Judged uint64 `json:"judged"`
	// Excluded URLs would get 760 and Elsewhere 761 in the background;
	// ExcludedWhenTaken 760 or 761 when they are next taken: those that wait, and
	// those that only the depths exclude.
	Excluded          PreviewGroup `json:"excluded"`
	Elsewhere         PreviewGroup `json:"elsewhere"`
	ExcludedWhenTaken PreviewGroup `json:"excluded_when_taken"`
	// Readmitted are crawled again: they were excluded, or may have a document where a kill list or a rule left none.
	Readmitted PreviewGroup `json:"readmitted"`
	// Moved would wait in another fifo when they are next queued.
	Moved PreviewGroup `json:"moved"`
	// Deleted are the documents that would be deleted in the background: of excluded URLs, and of those that would only be
	// crawled. Leaving are those that would leave a target, because it does not take their new source.
	Deleted PreviewGroup `json:"deleted"`
	Leaving PreviewGroup `json:"leaving"`
	// Held are the documents that the edit deletes, including those of pending URLs, if they are more than Allowed, the
	// number that edits may delete without confirmation. A renamed page is not deleted, but replaced.
	Held    uint64 `json:"held"`
	Allowed uint64 `json:"allowed"`
	Indexed uint64 `json:"indexed"` // documents before
	// Pending counts the pending deletions of earlier edits that the new rules also cause. Narrowed means that this is
	// less than now, and few enough to need no confirmation.
	Pending  uint64 `json:"pending"`
	Narrowed bool   `json:"narrowed,omitempty"`
	// Cancelled are losses of earlier edits that the new rules cancel: these documents stay.
	Cancelled uint64 `json:"cancelled"`
	// Retimed are due at another time, because the settings of refresh are others. Reread
	// would be fetched again in the background: the new rules let more in, and these may have
	// links that were outside. Where pages are refreshed, that waits for their refresh.
	Retimed uint64       `json:"retimed"`
	Reread  PreviewGroup `json:"reread"`
	// Note describes the new settings that do not affect stored URLs, or "".
	Note string `json:"note,omitempty"`
	// Renewed are documents that get other metas, or another source, from rules and roots: when they are next due, or at
	// once if the operator orders it. AtOnce of them are refetched at once in any case: nothing refreshes them, or they
	// are items of a list, which is read again.
	Renewed PreviewGroup `json:"renewed"`
	AtOnce  uint64       `json:"renewed_at_once"`

	edited uint64 // losses that belong to the edit
}

// keptNote is the note for settings that still name some of the XML files.
const keptNote = "documents of a removed <XMLDocuments> stay while other ones exist, which may also list them: " +
	"sextant remove --match removes them"

// fragmentNote is the note for settings whose rules use fragments, which are stored only while rules do.
const fragmentNote = "rules on the fragment judge a stored page by its stored fragment: " +
	"pages found before a rule used the fragment have none"

// PreviewGroup counts URLs and names some.
type PreviewGroup struct {
	Count   uint64          `json:"count"`
	Samples []PreviewSample `json:"samples"`
	// By are the rules and gates that put them there, at most 100, those with the most URLs first. It is empty for URLs
	// that are read again or renewed.
	By     []PreviewCause `json:"by"`
	causes map[crawlspace.Reason]*PreviewCause
}

// PreviewSample is one URL of a group.
type PreviewSample struct {
	URL    string `json:"url"`
	Status int    `json:"status"`          // before
	Fifo   string `json:"fifo"`            // before
	To     string `json:"to,omitempty"`    // new fifo, if another
	Words  string `json:"words,omitempty"` // why it is excluded, or its document deleted
}

// NewPreview judges all URLs of a store by new settings, without changes. It names up to samples URLs of each group.
func NewPreview(ctx context.Context, s policy.Settings, store scheduler.Reader, samples int) (*Preview, error) {
	p, err := policy.Stored(ctx, s, store)
	if err != nil {
		return nil, err
	}
	state, _, err := Stored(ctx, store)
	if err != nil {
		return nil, err
	}
	counts, err := store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	out := &Preview{Rules: p.Fingerprint, Before: state.Rules, Indexed: counts.Indexed}
	if p.Engine.Names(actionrules.FieldFragment) {
		out.Note = fragmentNote
	} else if p.KeepsGone() {
		out.Note = keptNote
	}
	before, err := policy.StoredWidth(ctx, store)
	if err != nil {
		return nil, err
	}
	g := newRetiming(p, state.Timing != p.Timing, time.Now(), p.Widened(before), false)
	all := func(*scheduler.Record) bool { return true }
	err = scheduler.Walk(ctx, store, weburl.Key{}, all, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			out.Judged++
			r := &batch[i].Record
			if u, ok := weburl.FromCanonical(r.URL); ok {
				o := reviewOf(p, u, r)
				o.retiming = g
				out.judge(&o, r, samples)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, g := range []*PreviewGroup{
		&out.Excluded, &out.Elsewhere, &out.ExcludedWhenTaken, &out.Readmitted, &out.Moved, &out.Deleted, &out.Leaving,
		&out.Reread, &out.Renewed,
	} {
		if g.Samples == nil {
			g.Samples = []PreviewSample{} // [] in JSON
		}
		g.setCauses()
	}
	if out.Allowed, err = deletion.EditRoom(ctx, store, out.Indexed); err != nil {
		return nil, err
	}
	if !s.Frontier.Deletions.Off && out.edited > out.Allowed {
		out.Held = out.edited
	}
	out.Narrowed = out.Cancelled > 0 && out.Pending > 0 && out.edited+out.Pending <= out.Allowed
	return out, nil
}

// judge puts one URL into its groups.
func (v *Preview) judge(o *review, r *scheduler.Record, samples int) {
	p, e := o.policy, o.effect(r)
	switch {
	case o.loses(r, e):
		v.edited++
	case !r.Indexed || !r.LossPending || !r.Reason.Operators() || r.Reason == scheduler.ReasonRenamed:
	case e == readmitted, e == kept:
		v.Cancelled++
	default:
		v.Pending++
	}
	if policy.Outside(r) == 0 {
		taken := p.Judge(o.link)
		late := !taken.Inside() && o.Inside() // by its depth
		if r.State == scheduler.Waiting && !o.Inside() {
			late, taken = true, o.Verdict
		}
		if late {
			v.ExcludedWhenTaken.add(samples, r, "", func() string { return p.Detail(&taken) })
			v.ExcludedWhenTaken.countCause(p.Cause(&taken), r.URL)
			return
		}
	}
	why := func() string { o.explain(); return o.words }
	to, back := "", e == readmitted || e == reindexed
	if o.Inside() && o.fifo(r) != r.Fifo && (policy.Outside(r) == 0 || back) { // its depth may exclude it still
		to = o.fifo(r).String()
	}
	switch e {
	case excluded:
		v.Excluded.add(samples, r, "", why)
		v.Excluded.countCause(o.cause(e), r.URL)
	case elsewhere:
		v.Elsewhere.add(samples, r, "", why)
		v.Elsewhere.countCause(o.cause(e), r.URL)
	case readmitted, reindexed:
		if r.State != scheduler.Waiting {
			v.Readmitted.add(samples, r, to, nil)
			v.Readmitted.countCause(o.cause(e), r.URL)
		}
	case unaffected, moved, unindexed, leaves, kept:
	}
	if to != "" && !back {
		v.Moved.add(samples, r, to, nil)
		v.Moved.countCause(o.cause(moved), r.URL)
	}
	if r.Indexed && r.State != scheduler.Waiting && (e == excluded || e == unindexed) {
		v.Deleted.add(samples, r, "", why)
		v.Deleted.countCause(o.cause(e), r.URL)
		return
	}
	if e == leaves {
		v.Leaving.add(samples, r, "", func() string {
			return fmt.Sprintf("from source %q to %q", r.PushedSource, o.Decision.Source)
		})
		v.Leaving.countCause(o.cause(e), r.URL)
	}
	switch o.timed(r) {
	case untimed:
	case retimed:
		v.Retimed++
	case renewed:
	case reread:
		v.Reread.add(samples, r, "", nil)
	}
	if o.renews(r) || r.Kind == scheduler.KindItem && o.differs(r) {
		v.Renewed.add(samples, r, "", nil)
		if r.Kind == scheduler.KindItem || !p.Refreshed(o.link.URL) {
			v.AtOnce++
		}
	}
}

func (g *PreviewGroup) add(samples int, r *scheduler.Record, to string, why func() string) {
	g.Count++
	if len(g.Samples) >= samples {
		return
	}
	s := PreviewSample{URL: r.URL, Status: r.Status, Fifo: r.Fifo.String(), To: to}
	if why != nil {
		s.Words = why()
	}
	g.Samples = append(g.Samples, s)
}
