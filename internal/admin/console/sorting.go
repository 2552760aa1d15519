package console

import (
	"strings"

	"github.com/sextant-crawler/sextant/internal/report"
)

// Sorted returns the heads of a table that is sorted by a column: "at", or "-at" for descending order. Other parts of
// the query are kept, except for the position in the list.
func (v *view) Sorted(columns []report.Column, now string) (heads []tableCell) {
	by, desc := strings.CutPrefix(now, "-")
	for _, c := range columns {
		if c.Title == "" {
			continue
		}
		h := tableCell{Column: c}
		// Times and counts are looked at for the latest and the most.
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
