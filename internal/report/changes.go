package report

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The kinds of change. A URL may have several.
const (
	ChangeNew        = "new"        // it became known
	ChangeIndexed    = "indexed"    // its document entered the index, for the first time or again, and has not changed since
	ChangeChanged    = "changed"    // its document got other content or another push source
	ChangeDeleted    = "deleted"    // its document was deleted
	ChangeExcluded   = "excluded"   // rules, robots.txt or the like shut it out
	ChangeReadmitted = "readmitted" // it was shut out before
	ChangeForgotten  = "forgotten"  // it was removed after an error that was final
)

// ChangeKinds are all of them, in the order of reports.
func ChangeKinds() []string {
	return []string{ChangeNew, ChangeIndexed, ChangeChanged, ChangeDeleted, ChangeExcluded, ChangeReadmitted, ChangeForgotten}
}

// Change is one change of a URL. The names of the JSON are a contract.
type Change struct {
	Change string    `json:"change"` // one of ChangeKinds
	At     time.Time `json:"at"`     // the last time that this happened to it
	URL    string    `json:"url"`
	Class  string    `json:"class"` // as of `sextant urls`; "" for forgotten URLs
	Status int       `json:"status"`
	Source string    `json:"source"` // that its document is, or was, pushed under
	Words  string    `json:"words,omitempty"`
}

var changeColumns = []column[Change]{
	{Column{Name: "change", Title: "Change", Shows: Word}, func(c *Change) any { return c.Change }},
	{Column{Name: "at", Title: "Time", Shows: Time}, func(c *Change) any { return c.At }},
	{Column{Name: "url", Title: "URL", Shows: Link, Key: true}, func(c *Change) any { return c.URL }},
	{Column{Name: "class", Title: "Outcome", Shows: Word}, func(c *Change) any { return c.Class }},
	{Column{Name: "status", Title: "Status", Shows: Code}, func(c *Change) any { return c.Status }},
	{Column{Name: "source", Title: "Push source"}, func(c *Change) any { return c.Source }},
	{Column{Name: "words", Title: "Message"}, func(c *Change) any { return c.Words }},
}

// Tables is a table of one row.
func (c Change) Tables() []Table { return []Table{tableOf("", changeColumns, []Change{c})} }

// EachChange calls fn for each change since a time, in order of keys. Of one kind only
// the last change of a URL is known. Of a document that was deleted, changed before, only
// the deletion is.
func EachChange(ctx context.Context, store Store, o Options, fn func(Change) error) error {
	since := o.Since.Truncate(time.Second)
	err := eachRecord(ctx, store, func(r *scheduler.Record) bool {
		return isOn(o.Host, r.Origin, r.URL) && (!r.FoundAt.Before(since) || !r.ClassAt.Before(since) || !r.ChangedAt.Before(since))
	}, func(_ weburl.Key, r *scheduler.Record) error {
		for _, c := range changesOf(r, since) {
			if err := fn(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return eachGone(ctx, store, o.Host, func(g *scheduler.Gone) bool { return !g.At.Before(since) }, func(g *goneURL) error {
		c := Change{Change: ChangeForgotten, At: g.At.UTC(), URL: g.URL, Status: g.Status, Source: g.Source, Words: g.Words}
		if g.Indexed {
			deleted := c
			deleted.Change = ChangeDeleted
			if err := fn(deleted); err != nil {
				return err
			}
		}
		return fn(c)
	})
}

// changesOf returns the changes of a stored URL since a time.
func changesOf(r *scheduler.Record, since time.Time) (list []Change) {
	add := func(kind string, at time.Time) {
		if at.IsZero() || at.Before(since) {
			return
		}
		list = append(list, Change{
			Change: kind, At: at.UTC(), URL: r.URL, Class: r.Class.String(), Status: r.Status, Source: r.PushedSource, Words: r.LastError,
		})
	}
	add(ChangeNew, r.FoundAt)
	switch {
	case !r.Indexed:
		add(ChangeDeleted, r.ChangedAt)
	case r.Entered:
		add(ChangeIndexed, r.ChangedAt)
	default:
		add(ChangeChanged, r.ChangedAt)
	}
	switch {
	case r.Class == scheduler.Ignored:
		add(ChangeExcluded, r.ClassAt)
	case r.Was == scheduler.Ignored:
		add(ChangeReadmitted, r.ClassAt)
	}
	return list
}

// Round is what a round of discovery, a schedule or a run that ended by itself did. The names of the JSON are a
// contract.
type Round struct {
	At time.Time `json:"at"` // when it had ended
	events.Made
}

var roundColumns = []column[Round]{
	{Column{Name: "at", Title: "Time", Shows: Time}, func(r *Round) any { return r.At }},
	{Column{Name: "of", Title: "Round", Key: true}, func(r *Round) any { return r.Of }},
	{Column{Name: "added", Title: "Added", Shows: Count}, func(r *Round) any { return int(r.Added) }},
	{Column{Name: "changed", Title: "Changed", Shows: Count}, func(r *Round) any { return int(r.Changed) }},
	{Column{Name: "gone", Title: "Gone", Shows: Count}, func(r *Round) any { return int(r.Gone) }},
	{Column{Name: "failed", Title: "Failed", Shows: Count}, func(r *Round) any { return int(r.Failed) }},
	{Column{Name: "took_s", Title: "Seconds", Shows: Count}, func(r *Round) any { return int(r.TookS) }},
}

// Tables is a table of one row.
func (r Round) Tables() []Table { return []Table{tableOf("", roundColumns, []Round{r})} }

// EachRound calls fn for each round since a time that is still remembered, the latest first.
func EachRound(ctx context.Context, store Store, o Options, fn func(Round) error) error {
	all, err := events.List(ctx, store)
	for i := range all {
		if err == nil && all[i].Made != nil && !all[i].At.Before(o.Since) {
			err = fn(Round{all[i].At, *all[i].Made})
		}
	}
	return err
}
