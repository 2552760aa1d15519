package admin

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// ReportCSV writes reports by RFC 4180, with a header line. A cell that a spreadsheet would
// take for a formula gets an apostrophe before it: much of what is in reports comes from
// strangers.
type ReportCSV struct {
	out *csv.Writer
	err error
}

// NewReportCSV makes one for reports of a kind, and writes the header.
func NewReportCSV(w io.Writer, kind string) *ReportCSV {
	c := &ReportCSV{out: csv.NewWriter(w)}
	c.out.UseCRLF = true
	_ = c.row(map[string][]string{
		"broken":    {"url", "error", "status", "words", "since", "last_at", "visits", "forgotten", "pages", "page", "redirect"},
		"errors":    {"host", "class", "urls", "forgotten", "first", "last", "example", "words"},
		"documents": {"by", "name", "urls", "indexed", "waiting", "held", "dead", "resting"},
		"changes":   {"change", "at", "url", "class", "status", "source", "words"},
	}[kind]...) // an error stays
	return c
}

// row writes a line. An error stays.
func (c *ReportCSV) row(cells ...string) error {
	if c.err != nil {
		return c.err
	}
	for i := range cells {
		cells[i] = harmless(cells[i])
	}
	c.err = c.out.Write(cells)
	return c.err
}

// harmless is a cell that no spreadsheet takes for a formula.
func harmless(cell string) string {
	if cell != "" {
		switch cell[0] {
		case '=', '+', '-', '@', '\t', '\r', '\n':
			return "'" + cell
		}
	}
	return cell
}

func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Broken writes a line for each page, one without a page where none is known.
func (c *ReportCSV) Broken(b crawl.Broken) error {
	last := ""
	if b.LastAt != nil {
		last = timeCell(*b.LastAt)
	}
	from := b.LinkedFrom
	if len(from) == 0 {
		from = []crawl.LinkedFrom{{}}
	}
	for _, l := range from {
		if err := c.row(b.URL, b.Error, strconv.Itoa(b.Status), b.Words, timeCell(b.Since), last, strconv.Itoa(b.Visits),
			strconv.FormatBool(b.Forgotten), strconv.Itoa(b.Pages), l.Page, l.Redirect); err != nil {
			return err
		}
	}
	return nil
}

// Errors writes a line for each class, those of all hosts with an empty host, then of each host.
func (c *ReportCSV) Errors(e *crawl.Errors) error {
	classes := func(host string, list []crawl.ErrorCount) {
		for _, n := range list {
			_ = c.row(host, n.Class, strconv.Itoa(n.URLs), strconv.Itoa(n.Forgotten), timeCell(n.First), timeCell(n.Last), n.Example, n.Words)
		}
	}
	classes("", e.Classes)
	for _, h := range e.ByHost {
		classes(h.Host, h.Classes)
	}
	return c.err
}

// Documents writes a line for each count.
func (c *ReportCSV) Documents(d *crawl.Documents) error {
	counts := func(by, name string, n ...int) {
		cells := []string{by, name, "", "", "", "", "", ""}
		for i := range n {
			if n[i] >= 0 {
				cells[2+i] = strconv.Itoa(n[i])
			}
		}
		_ = c.row(cells...)
	}
	counts("all", "", d.URLs, d.Indexed)
	for _, s := range d.BySource {
		counts("source", s.Source, -1, s.Indexed, s.Waiting, s.Held, s.Dead, s.Resting)
	}
	for _, s := range d.ByStatus {
		counts("status", s.Status, s.URLs)
	}
	for _, f := range d.ByFifo {
		counts("fifo", f.Fifo, f.URLs, f.Indexed)
	}
	for _, t := range d.ByType {
		counts("type", t.Type, t.URLs, t.Indexed)
	}
	for _, h := range d.ByHost {
		counts("host", h.Host, h.URLs, h.Indexed)
	}
	return c.err
}

// Changed writes a line.
func (c *ReportCSV) Changed(e crawl.Changed) error {
	return c.row(e.Change, timeCell(e.At), e.URL, e.Class, strconv.Itoa(e.Status), e.Source, e.Words)
}

// End writes what is still in memory.
func (c *ReportCSV) End() error {
	if c.err == nil {
		c.out.Flush()
		c.err = c.out.Error()
	}
	return c.err
}
