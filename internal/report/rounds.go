package report

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/crawl/events"
)

// Round is what a round of discovery, a schedule or a run that ended by itself did. The names of the JSON are a contract.
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
