package report

import (
	"context"
	"fmt"
	"slices"
)

// ordered calls put with the entries of each, in the order of o, beginning at o.From. Entries beyond the limit are
// dropped; entries that do not fit into memory are sorted in files.
func ordered[E Entry](
	ctx context.Context, store Store, o Options, place func(*E) Place,
	each func(context.Context, Store, Options, func(E) error) error, put func(Entry) error,
) error {
	limit := o.Limit
	if limit > 0 {
		limit += o.From
	}
	rows := newSorter(o.Order, limit, place)
	defer rows.close()
	n := 0
	if err := each(ctx, store, o, func(e E) error { n++; return rows.add(&e) }); err != nil {
		return err
	}
	if o.Counted != nil {
		o.Counted(n)
	}
	n = 0
	return rows.each(func(e *E) error {
		if n++; n <= o.From {
			return nil
		}
		return put(*e)
	})
}

// brokenPlace returns the place of broken links by a column; parts of one stay together.
func brokenPlace(by string) func(*Broken) Place {
	place := placer(brokenColumns, by, func(b *brokenPage) string { return fmt.Sprintf("%s %06d", b.URL, b.Part) })
	return func(b *Broken) Place {
		row := brokenPage{Broken: b}
		if len(b.LinkedFrom) > 0 {
			row.from = b.LinkedFrom[0]
		}
		return place(&row)
	}
}

// changePlace returns the place of changes by a column. A URL may have several.
func changePlace(by string) func(*Change) Place {
	return placer(changeColumns, by, func(c *Change) string { return c.URL + " " + c.Change })
}

// sortRows sorts rows by a column; rows without it keep their order.
func sortRows[R any](o Order, columns []column[R], rows []R) {
	i := slices.IndexFunc(columns, func(c column[R]) bool { return c.Name == o.By })
	if i < 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b R) int {
		return o.compare(Place{Cell: sortable(columns[i].cell(&a))}, Place{Cell: sortable(columns[i].cell(&b))})
	})
}

// sort sorts the classes.
func (e *Errors) sort(o Order) {
	sortRows(o, errorColumns, e.Classes)
	for i := range e.ByHost {
		sortRows(o, errorColumns, e.ByHost[i].Classes)
	}
}

// sort sorts the groups of documents.
func (d *Documents) sort(o Order) {
	for _, rows := range [][]GroupCount{d.BySource, d.ByStatus, d.ByFifo, d.ByType, d.ByHost} {
		sortRows(o, countColumns, rows)
	}
}
