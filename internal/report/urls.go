package report

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// urlColumns are the columns of a list of stored URLs, by which it can be sorted.
var urlColumns = []column[StoredURL]{
	{Column{Name: "url", Title: "URL", Shows: Link, Key: true}, func(s *StoredURL) any { return s.URL }},
	{Column{Name: "status", Title: "Status", Shows: Code}, func(s *StoredURL) any { return s.Status }},
	{Column{Name: "fate", Title: "Fate", Shows: Word}, func(s *StoredURL) any { return s.Fate }},
	{Column{Name: "reason", Title: "Reason", Shows: Word}, func(s *StoredURL) any { return s.Reason }},
	{Column{Name: "fifo", Title: "Fifo", Shows: Word}, func(s *StoredURL) any { return s.Fifo }},
	{Column{Name: "source", Title: "Push source"}, func(s *StoredURL) any { return s.Source }},
	{Column{Name: "errors", Title: "Errors", Shows: Count}, func(s *StoredURL) any { return s.Errors }},
	{Column{Name: "depth", Title: "Depth", Shows: Count}, func(s *StoredURL) any { return s.Depth }},
	{Column{Name: "found_at", Title: "Found", Shows: Time}, func(s *StoredURL) any { return orZero(s.FoundAt) }},
	{Column{Name: "fetched_at", Title: "Crawled", Shows: Time}, func(s *StoredURL) any { return orZero(s.FetchedAt) }},
	{Column{Name: "next_at", Title: "Next visit", Shows: Time}, func(s *StoredURL) any { return orZero(s.NextAt) }},
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// Page is a part of a list of stored URLs. One in the order of keys may be shorter than requested although others
// follow: it reads at most PageRead URLs.
type Page struct {
	URLs []StoredURL `json:"items"`
	// Next is the cursor of the page after it, empty at the end.
	Next string `json:"next,omitempty"`
	// Total counts all that the filter finds, where the list is sorted; else it is 0: not known.
	Total int `json:"total,omitempty"`
	// Read is the number of stored URLs read for it.
	Read int `json:"read"`
}

// PageRead is the maximum number of stored URLs read for one page in the order of keys. If few are selected, the page
// is short, and others follow.
const PageRead = 5 * scheduler.WalkRead

// URLPage returns the first limit URLs that f selects from f.From on, in order of keys, out of the next read (0:
// PageRead). No view of the store is held for longer than a batch.
func URLPage(ctx context.Context, store Store, f Filter, limit, read int) (p Page, err error) {
	p.URLs = []StoredURL{}
	if read == 0 {
		read = PageRead
	}
	c, err := withRefusals(ctx, store)
	if err != nil {
		return p, err
	}
	from := f.From
	for {
		some, looked := min(scheduler.WalkRead, read-p.Read), 0
		batch, next, last, err := scheduler.ReadBatch(ctx, store, from, limit-len(p.URLs), some, func(r *scheduler.Record) bool {
			looked++
			return f.may(r)
		})
		p.Read += looked
		if err != nil {
			return p, err
		}
		for i := range batch {
			s, err := storedURL(ctx, c, &batch[i].Record)
			if err != nil {
				return p, err
			}
			if f.Selects(&batch[i].Record) {
				p.URLs = append(p.URLs, s)
			}
		}
		if last {
			return p, nil
		}
		if from = next; len(p.URLs) == limit || p.Read >= read {
			p.Next = next.String()
			return p, nil
		}
	}
}

// EachURL calls fn for each stored URL that f selects, in order of keys. One that is
// stored meanwhile may be among them or not.
func EachURL(ctx context.Context, store Store, f Filter, fn func(StoredURL) error) error {
	c, err := withRefusals(ctx, store)
	if err != nil {
		return err
	}
	return scheduler.Walk(ctx, store, f.From, f.may, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			s, err := storedURL(ctx, c, &batch[i].Record)
			if err == nil && f.Selects(&batch[i].Record) {
				err = fn(s)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// EachURLSorted calls fn in the order of a column, for up to limit URLs (0: all) after o.After. It reads the whole
// store, and keeps the rows in memory up to a bound, or the limit; more are sorted in files. at is the cursor after the
// URL, total the number of URLs that f selects.
func EachURLSorted(ctx context.Context, store Store, f Filter, o Order, limit int, fn func(s StoredURL, at string) error) (total int, err error) {
	place := placer(urlColumns, o.By, func(s *StoredURL) string { return s.URL })
	rows := newSorter(o, limit, place)
	defer rows.close()
	f.From = weburl.Key{}
	err = EachURL(ctx, store, f, func(s StoredURL) error { total++; return rows.add(&s) })
	if err != nil {
		return total, err
	}
	return total, rows.each(func(s *StoredURL) error { return fn(*s, place(s).String()) })
}

// Tables is a table of one row.
func (s StoredURL) Tables() []Table { return []Table{tableOf("", urlColumns, []StoredURL{s})} }
