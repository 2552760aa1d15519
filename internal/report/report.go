// Package report reads a store: stored URLs one by one, links to a URL, and five reports, of broken links, errors,
// documents, changes and rounds. It reads a store in short steps, whether a crawl is running on it or not.
//
// A report is a stream of entries. Each entry gives its rows under columns that are data, so that CSV, the text for
// people and the console show the same columns; its JSON is the entry itself. A new column needs a field of the entry
// and a line in its list of columns, in the same file; admin/openapi.yaml and docs/reports.md describe it, and a test
// of admin fails until the first does. The package starts no goroutine and has no lock. Its functions are safe for
// concurrent use; each of its writers (Text, CSV, JSON) is used by one goroutine at a time.
package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

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
		return ordered(ctx, store, o, brokenPlace(o.Order.By), EachBroken, put)
	case KindErrors:
		e, err := CountErrors(ctx, store, o)
		if err == nil {
			e.sort(o.Order)
			err = put(e)
		}
		return err
	case KindDocuments:
		d, err := CountDocuments(ctx, store, o)
		if err == nil {
			d.sort(o.Order)
			err = put(d)
		}
		return err
	case KindChanges:
		return ordered(ctx, store, o, changePlace(o.Order.By), EachChange, put)
	case KindRounds:
		place := placer(roundColumns, o.Order.By, func(r *Round) string { return r.Of })
		return ordered(ctx, store, o, place, EachRound, put)
	}
	return fmt.Errorf("there is no report %q: write %s", kind, strings.Join(Kinds(), ", "))
}
