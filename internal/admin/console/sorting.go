package console

import (
	"strings"

	"github.com/sextant-crawler/sextant/internal/report"
)

// sortHead is the head of a sortable column.
type sortHead struct {
	report.Column
	// Path sorts by the column, in reverse if it is the present one.
	Path string
	// Aria is the value of aria-sort, empty if the table is not sorted by the column.
	Aria string
}

// Class returns the CSS class.
func (h sortHead) Class() string { return tableCell{Column: h.Column}.Class() }

// Sorted returns the heads of a table that is sorted by a column: "at", or "-at" for the greatest first. The links keep
// the rest of the query, except for the position in the list.
func (v *view) Sorted(columns []report.Column, now string) (heads []sortHead) {
	by, desc := strings.CutPrefix(now, "-")
	for _, c := range columns {
		if c.Title == "" {
			continue
		}
		h := sortHead{Column: c}
		// For times and counts the latest and the greatest matter.
		backwards := c.Shows == report.Time || c.Shows == report.Count
		if c.Name == by {
			backwards = !desc
			h.Aria = map[bool]string{false: "ascending", true: "descending"}[desc]
		}
		q := v.visit.r.URL.Query()
		q.Del("cursor")
		q.Del("from")
		q.Set("sort", map[bool]string{false: "", true: "-"}[backwards]+c.Name)
		h.Path = v.visit.link(v.visit.r.URL.EscapedPath(), q)
		heads = append(heads, h)
	}
	return heads
}

// SortNow returns the order in the query.
func (v *view) SortNow() string { return v.visit.r.URL.Query().Get("sort") }
