package console

import (
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/meter"
	visiting "github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// fieldRow counts the pages of a field, or of the main content.
type fieldRow struct {
	meter.FieldStatus
	IsMain     bool
	Found      int64
	FoundShare string // percent
	// Nowhere is set if no page has it, though some were searched.
	Nowhere bool
}

func newFieldRow(f meter.FieldStatus) fieldRow {
	found := f.Pages - f.Empty
	return fieldRow{FieldStatus: f, Found: found, FoundShare: percent(uint64(max(found, 0)), uint64(max(f.Pages, 0))), Nowhere: found == 0 && f.Pages > 0} //nolint:gosec // not negative
}

// FieldRows returns the fields by name, with the main content last.
func (d overviewData) FieldRows() (rows []fieldRow) {
	for _, f := range d.Fields.Fields {
		rows = append(rows, newFieldRow(f))
	}
	if m := d.Fields.Main; m != nil {
		row := newFieldRow(meter.FieldStatus{Pages: m.Pages, Empty: m.Empty})
		row.IsMain = true
		rows = append(rows, row)
	}
	return rows
}

// RenderSeconds returns the mean time of rendering a page, "" if there was none.
func (d overviewData) RenderSeconds() string {
	if n := d.Rendered.Pages + d.Rendered.Failed; n > 0 {
		return fmt.Sprintf("%.1f", d.Rendered.Seconds/float64(n))
	}
	return ""
}

// logInsOf returns the states of the named log-ins.
func logInsOf(s *admin.Status, names ...string) (all []visiting.SessionStatus) {
	for _, l := range s.Sessions {
		if slices.Contains(names, l.Name) {
			all = append(all, l)
		}
	}
	return all
}

// fieldTroubles returns the fields that match nowhere: their selectors may be wrong.
func fieldTroubles(s *admin.Status) (names []string) {
	if s.Fields == nil {
		return nil
	}
	for _, f := range s.Fields.Fields {
		if f.Pages >= nowherePages && f.Empty == f.Pages {
			names = append(names, f.Name)
		}
	}
	return names
}

// nowherePages is the number of pages that must lack a field before it is reported.
const nowherePages = 20
