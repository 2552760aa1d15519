package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// entriesShown bounds a report's entries on a page, pagesShown the pages with a broken link.
const (
	entriesShown = 100
	pagesShown   = "5"
)

// reportData is a report.
type reportData struct {
	Kind, Host, Since string
	// CSV is the address of the whole report.
	CSV       string
	Columns   []report.Column // for Entries
	Entries   []report.Entry  // broken links, changes or rounds
	Total     int             // number of entries in all
	Errors    *report.Errors
	Documents *report.Documents
	// Sort is the order, First the number of the first entry, from 1; Next is the address of the next page.
	Sort  string
	First int
	Next  string
}

// Kinds returns the kinds of reports.
func (d *reportData) Kinds() []string { return report.Kinds() }

func reportOf(v *visit) (any, error) {
	q := v.r.URL.Query()
	d := &reportData{Kind: v.r.PathValue("kind"), Host: strings.TrimSpace(q.Get("host")), Since: strings.TrimSpace(q.Get("since"))}
	if !slices.Contains(report.Kinds(), d.Kind) {
		return nil, &admin.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "there is no such report"}
	}
	d.Sort = cmp.Or(q.Get("sort"), report.DefaultOrder(d.Kind).String())
	ask := admin.Query("host", d.Host, "since", d.Since, "sort", d.Sort)
	if d.Kind == report.KindDocuments {
		ask.Del("since")
	}
	from, err := strconv.Atoi(cmp.Or(q.Get("from"), "0"))
	if err != nil || from < 0 || from > report.FromMax {
		return nil, &admin.Problem{Title: "Bad request", Status: http.StatusBadRequest, Detail: "from is a number up to " + strconv.Itoa(report.FromMax)}
	}
	d.First = from + 1
	csv := url.Values{"format": {"csv"}, "top": {"0"}, "pages": {"0"}}
	maps.Copy(csv, ask)
	d.CSV = v.link("/api/v1/report/"+d.Kind, csv)
	path := "/report/" + d.Kind
	d.Columns = report.Columns(d.Kind)
	if report.Streamed(d.Kind) {
		ask.Set("from", strconv.Itoa(from))
	}
	switch d.Kind {
	case report.KindBroken:
		ask.Set("pages", pagesShown)
		err = entries[report.Broken](v, d, path, ask)
	case report.KindChanges:
		err = entries[report.Change](v, d, path, ask)
	case report.KindRounds:
		err = entries[report.Round](v, d, path, ask)
	case report.KindErrors:
		err = v.get(path, ask, &d.Errors)
	default:
		err = v.get(path, ask, &d.Documents)
	}
	if from+len(d.Entries) < d.Total {
		next := v.r.URL.Query()
		next.Set("from", strconv.Itoa(from+entriesShown))
		d.Next = v.link(v.r.URL.EscapedPath(), next)
	}
	return d, err
}

// entries reads a page of a report's entries, and their total.
func entries[E report.Entry](v *visit, d *reportData, path string, ask url.Values) error {
	ask.Set("limit", strconv.Itoa(entriesShown))
	header, text, err := v.api.Text(v.r.Context(), path, ask)
	if err != nil {
		return err
	}
	if d.Total, err = strconv.Atoi(header.Get(admin.TotalHeader)); err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		var e E
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		d.Entries = append(d.Entries, e)
	}
	return nil
}

// tableCell is a cell of a report's table for display.
type tableCell struct {
	report.Column
	HTML template.HTML
	Tag  string
	// Path, in the head of a column, sorts by it, or reverses the order if the table is already sorted by it. Aria is the
	// value of aria-sort, or empty.
	Path, Aria string
}

// Class returns the CSS class of the cell, and of its column's head.
func (c tableCell) Class() string {
	switch c.Shows {
	case report.Count, report.Code:
		return "num"
	case report.Link:
		return "wide"
	case report.Word:
		return "nowrap"
	case report.Text, report.Origin, report.Flag, report.Time:
	}
	return ""
}

// By returns the title of a table of counts, as in "By source".
func (v *view) By(t report.Table) string { return "By " + strings.ToLower(t.Columns[0].Title) }

// Rows returns a table's cells.
func (v *view) Rows(t report.Table) (list [][]tableCell) {
	for _, values := range t.Rows {
		row := v.row(t.Columns, values, func(c report.Column) bool { return c.Title != "" })
		for i := range row {
			if ask := counted(&t, values[0], row[i].Name); ask != nil {
				v.linkCount(&row[i], ask)
			}
		}
		list = append(list, row)
	}
	return list
}

// counted returns the filter of the URLs that a column of a row counts, nil without one.
func counted(t *report.Table, of any, column string) url.Values {
	name, _ := of.(string)
	by := map[string]string{"source": "source", "status": "fate", "fifo": "fifo", "host": "host"}[t.Of]
	if t.Columns[0].Name == "class" { // of errors
		by = "error"
	}
	switch {
	case by == "" || name == "":
	case by == "error" && column == "urls":
		return admin.Query("error", name, "host", t.Of)
	case column == "urls":
		return url.Values{by: {name}}
	case column == "indexed":
		return url.Values{by: {name}, "fate": {scheduler.FateIndexed.String()}}
	}
	return nil
}

// linkCount turns a count other than 0 into a link to the counted URLs.
func (v *view) linkCount(cell *tableCell, ask url.Values) {
	if cell.HTML != "0" {
		cell.HTML = `<a href="` + template.HTML(template.HTMLEscapeString(v.visit.link("/urls", ask))) + `">` + cell.HTML + `</a>` //nolint:gosec // escaped
	}
}

// row are the cells of the columns that are shown.
func (v *view) row(columns []report.Column, values []any, shows func(report.Column) bool) (row []tableCell) {
	for i, c := range columns {
		if shows(c) {
			row = append(row, tableCell{Column: c, HTML: v.cell(c, values[i])})
		}
	}
	return row
}

// RowOf is the row of a broken link, or of a change.
func (v *view) RowOf(e report.Entry) []tableCell {
	t := e.Tables()[0]
	t.Rows = t.Rows[:1] // the others list further pages
	row := v.Rows(t)[0]
	b, ok := e.(report.Broken)
	for i := range row {
		switch {
		case ok && b.Forgotten && row[i].Key:
			row[i].Tag = "forgotten"
		case ok && row[i].Name == "words":
			row[i].Tag = b.Error
		}
	}
	return row
}

func (v *view) cell(c report.Column, value any) template.HTML {
	switch value := value.(type) {
	case time.Time:
		return when(value)
	case bool:
		return map[bool]template.HTML{true: "yes"}[value]
	case int:
		if c.Shows == report.Code {
			return map[bool]template.HTML{false: template.HTML(strconv.Itoa(value))}[value == 0] //nolint:gosec // digits
		}
		return template.HTML(count(value)) //nolint:gosec // digits
	case string:
		switch {
		case c.Shows == report.Link:
			return v.URL(value)
		case c.Shows == report.Origin:
			return v.Host(value)
		case value == "" && c.Empty != "":
			return template.HTML(`<span class="muted">` + template.HTMLEscapeString(c.Empty) + `</span>`) //nolint:gosec // escaped
		case c.Shows == report.Word:
			return template.HTML(template.HTMLEscapeString(spaced(cut(value, maxShown)))) //nolint:gosec // escaped
		}
		return shown(value, maxShown)
	}
	return ""
}
