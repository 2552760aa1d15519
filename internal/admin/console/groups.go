package console

import (
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler"
)

// group is a set of the overview's figures.
type group struct {
	ID, Name string
	Figures  []figure
}

// figure is a number that links to the list of what it counts.
type figure struct {
	Name, Value, Unit string
	Kind              string // bad or warn to highlight it
	Path              string // empty if the visitor may not see the list
}

// groups returns the figures of the crawl, of the index and of failures.
func groups(v *visit, d *overviewData) []group {
	to := func(path string, query ...string) string { return v.link(path, admin.Query(query...)) }
	alarm := func(n uint64, kind string) string {
		if n == 0 {
			return ""
		}
		return kind
	}
	crawling := []figure{
		{"Pages", rate(d.Rates.PagesPerS), "per s", "", to("/urls", "sort", "-fetched_at")},
		{"Received", byteWords(d.Rates.BytesPerS), "per s", "", to("/reports/documents")},
		{"Waiting", count(d.Waiting), "URLs", "", to("/hosts", "show", "waiting")},
		{"Scheduled", count(d.Timed), "URLs", "", to("/urls", "sort", "next_at")},
		{"Hosts with work", count(d.Hosts.WithWork), "of " + count(d.Hosts.Known), "", to("/hosts", "show", "waiting")},
	}
	index := []figure{
		{"Documents", count(d.Indexed), "", "", to("/urls", "fate", scheduler.FateIndexed.String())},
		{"URLs known", count(d.Known), "", "", to("/urls")},
		{"Outbox", count(d.Outbox.Waiting), "waiting", "", to("/outbox")},
		{"Deletions pending", count(d.Outbox.Pending), "", "", to("/deletions")},
	}
	if d.Store != nil {
		index = append(index, figure{"Changes", "+" + count(d.Store.DocumentsAdded) + " −" + count(d.Store.DocumentsDeleted), "since start", "", to("/reports/changes")})
	}
	temporary, permanent := d.ByClass[scheduler.Temporary.String()], d.ByClass[scheduler.Permanent.String()]
	most := d.DeletionsByClass[scheduler.LossMost.String()]
	trouble := []figure{
		{"Temporary errors", count(temporary), "URLs", alarm(temporary, "warn"), to("/urls", "class", scheduler.Temporary.String())},
		{"Permanent errors", count(permanent), "URLs", alarm(permanent, "warn"), to("/urls", "class", scheduler.Permanent.String())},
		{"Mass deletions", count(most), "pending", alarm(most, "bad"), to("/deletions")},
		{"Dead letters", count(d.Outbox.Dead), "", alarm(d.Outbox.Dead, "bad"), to("/outbox", "state", "dead")},
		{"Ill hosts", count(d.IllHosts), "", alarm(uint64(max(d.IllHosts, 0)), "bad"), to("/hosts", "show", "ill")},
	}
	if d.Lost > 0 {
		trouble = append(trouble, figure{"Documents lost", count(d.Lost), "", "warn", to("/urls", "fate", scheduler.FateBodyLost.String())})
	}
	return []group{{"crawling", "Crawling", crawling}, {"index", "Index", index}, {"trouble", "Trouble", trouble}}
}
