// Package report reads a store: stored URLs one by one, links to a URL, and five
// reports, of broken links, errors, documents, changes and rounds. It reads a store in short steps,
// whether a crawl is running on it or not.
//
// A report is a stream of entries. Each entry gives its rows under columns that are data,
// so that CSV, the text for people and the console show the same columns; its JSON is the
// entry itself. A new column is a field of the entry and a line of its list of columns,
// beside each other in one file; admin/openapi.yaml and docs/reports.md name it, and a test
// of admin fails until the first does.
//
// The package starts no goroutine and has no lock. Its functions may be called at once by
// many goroutines, its writers (Text, CSV, JSON) by one at a time.
package report

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Store is the part of a store that reports read. They hold no snapshot for long, so concurrent changes may or may not
// be included.
type Store interface {
	scheduler.Reader
	// Outlinks calls fn for the links of each page from a key on, in order of keys. fn
	// must not keep them.
	Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error
	// Gone calls fn for the trace of each URL that was forgotten after an error.
	Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error
	// Orders calls fn for the selected orders of the outbox.
	Orders(ctx context.Context, sel push.Selection, fn func(push.Listed) error) error
}

// The kinds of reports.
const (
	KindBroken    = "broken"
	KindErrors    = "errors"
	KindDocuments = "documents"
	KindChanges   = "changes"
	KindRounds    = "rounds"
	KindURLs      = "urls" // a list of stored URLs, which no report is made of
)

// Kinds are all of them.
func Kinds() []string {
	return []string{KindBroken, KindErrors, KindDocuments, KindChanges, KindRounds}
}

// Streamed reports whether a kind of report has many entries. The others have one.
func Streamed(kind string) bool { return kind != KindErrors && kind != KindDocuments }

// Entry is a part of a report: a Broken, a Change, a Round, a StoredURL, or the whole *Errors or *Documents.
type Entry interface {
	// Tables are the entry's rows.
	Tables() []Table
}

// Sink takes the entries of a report one by one.
type Sink interface {
	Put(Entry) error
	// End is called after the last entry.
	End() error
}

// Write writes a report of a store, in the order of o, or in that of keys by default. A report with many entries ends
// after o.Limit of them.
func Write(ctx context.Context, kind string, store Store, o Options, to Sink) error {
	n := 0
	put := func(e Entry) error {
		if o.Limit > 0 && n == o.Limit {
			return errEnough
		}
		n++
		return to.Put(e)
	}
	if err := write(ctx, kind, store, o, put); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return to.End()
}

func write(ctx context.Context, kind string, store Store, o Options, put func(Entry) error) error {
	switch kind {
	case KindBroken:
		return ordered(ctx, &o, brokenPlace(o.Order.By), func(ctx context.Context, fn func(Broken) error) error { return EachBroken(ctx, store, o, fn) }, put)
	case KindErrors:
		e, err := CountErrors(ctx, store, o)
		if err != nil {
			return err
		}
		e.sort(o.Order)
		return put(e)
	case KindDocuments:
		d, err := CountDocuments(ctx, store, o)
		if err != nil {
			return err
		}
		d.sort(o.Order)
		return put(d)
	case KindChanges:
		return ordered(ctx, &o, changePlace(o.Order.By), func(ctx context.Context, fn func(Change) error) error { return EachChange(ctx, store, o, fn) }, put)
	case KindRounds:
		place := placer(roundColumns, o.Order.By, func(r *Round) string { return r.Of })
		return ordered(ctx, &o, place, func(ctx context.Context, fn func(Round) error) error { return EachRound(ctx, store, o, fn) }, put)
	}
	return fmt.Errorf("there is no report %q: write %s", kind, strings.Join(Kinds(), ", "))
}
