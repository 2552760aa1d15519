package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push/wire"
)

// reportText prints reports for people.
type reportText struct {
	out     io.Writer
	kind    string
	options admin.ReportOptions
	urls    int            // broken ones
	alone   int            // of them those that no page is known to link to
	changes map[string]int // by kind
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// Broken prints a URL and the first pages.
func (t *reportText) Broken(b crawl.Broken) error {
	if b.Part <= 1 {
		t.urls++
		words := b.Words
		if words == "" {
			words = b.Error
		}
		fmt.Fprintf(t.out, "%s  %s\n  since %s, %s", b.URL, wire.Plain(words), clock(b.Since), count(b.Visits, "visit"))
		if b.LastAt != nil {
			fmt.Fprintf(t.out, ", the last one %s", clock(*b.LastAt))
		}
		if b.Forgotten {
			fmt.Fprint(t.out, "; forgotten since")
		}
		if b.Pages == 0 {
			t.alone++
			fmt.Fprint(t.out, "; no page is known to link to it\n")
		} else {
			fmt.Fprintf(t.out, "; linked from %s:\n", count(b.Pages, "page"))
		}
	}
	for _, l := range b.LinkedFrom {
		if l.Redirect != "" {
			fmt.Fprintf(t.out, "    %s  (as %s, which redirects)\n", l.Page, l.Redirect)
			continue
		}
		fmt.Fprintf(t.out, "    %s\n", l.Page)
	}
	if more := b.Pages - len(b.LinkedFrom); more > 0 && b.Part == 0 {
		fmt.Fprintf(t.out, "    and %d more (--pages 0 names all)\n", more)
	}
	return nil
}

// Errors prints the classes, then the hosts.
func (t *reportText) Errors(e *crawl.Errors) error {
	fmt.Fprintf(t.out, "%s with an error, %d forgotten, on %s\n", count(e.URLs, "URL"), e.Forgotten, count(e.Hosts, "host"))
	if len(e.Classes) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	rows := func(list []crawl.ErrorCount) {
		for _, c := range list {
			fmt.Fprintf(table, "  %s\t%d\t%d\t%s\t%s\t%s\t%s\n", c.Class, c.URLs, c.Forgotten, clock(c.First), clock(c.Last), c.Example, wire.Plain(c.Words))
		}
	}
	fmt.Fprintln(table, "\nall hosts\tURLs\tforgotten\tfirst\tlast\texample\twords")
	rows(e.Classes)
	for _, h := range e.ByHost {
		fmt.Fprintf(table, "%s\t%d\t%d\t\t\t\t\n", h.Host, h.URLs, h.Forgotten)
		rows(h.Classes)
	}
	if more := e.Hosts - len(e.ByHost); more > 0 {
		fmt.Fprintf(table, "and %d more (--top 0 names all)\n", more)
	}
	return table.Flush()
}

// Documents prints the counts.
func (t *reportText) Documents(d *crawl.Documents) error {
	fmt.Fprintf(t.out, "%s, %s in the index\n", count(d.URLs, "URL"), count(d.Indexed, "document"))
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nby status\tURLs")
	for _, s := range d.ByStatus {
		fmt.Fprintf(table, "  %s\t%d\n", s.Status, s.URLs)
	}
	fmt.Fprintln(table, "\nby source\tindexed\twaiting\tresting\theld\tdead")
	for _, s := range d.BySource {
		fmt.Fprintf(table, "  %s\t%d\t%d\t%d\t%d\t%d\n", named(s.Source, "(no name)"), s.Indexed, s.Waiting, s.Resting, s.Held, s.Dead)
	}
	part := func(title string) { fmt.Fprintf(table, "\n%s\tURLs\tindexed\n", title) }
	row := func(name string, urls, indexed int) { fmt.Fprintf(table, "  %s\t%d\t%d\n", name, urls, indexed) }
	part("by fifo")
	for _, f := range d.ByFifo {
		row(f.Fifo, f.URLs, f.Indexed)
	}
	part("by type, of pages that were had")
	for _, c := range d.ByType {
		row(wire.Plain(named(c.Type, "(not known)")), c.URLs, c.Indexed)
	}
	part("by host")
	for _, h := range d.ByHost {
		row(h.Host, h.URLs, h.Indexed)
	}
	if more := d.Hosts - len(d.ByHost); more > 0 {
		fmt.Fprintf(table, "  and %d more (--top 0 names all)\n", more)
	}
	return table.Flush()
}

func named(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// Changed prints a line.
func (t *reportText) Changed(c crawl.Changed) error {
	if t.changes == nil {
		t.changes = map[string]int{}
	}
	t.changes[c.Change]++
	fmt.Fprintf(t.out, "%-10s  %s  %s", c.Change, clock(c.At), c.URL)
	if c.Words != "" {
		fmt.Fprintf(t.out, "  %s", wire.Plain(c.Words))
	}
	_, err := fmt.Fprintln(t.out)
	return err
}

// End prints the sums.
func (t *reportText) End() error {
	switch t.kind {
	case "broken":
		fmt.Fprintf(t.out, "%s", count(t.urls, "broken URL"))
		if t.alone > 0 {
			fmt.Fprintf(t.out, ", %d of them without a page that is known to link there", t.alone)
		}
		fmt.Fprintln(t.out)
	case "changes":
		var sums []string
		for _, kind := range crawl.ChangeKinds() {
			if n := t.changes[kind]; n > 0 {
				sums = append(sums, fmt.Sprintf("%d %s", n, kind))
			}
		}
		fmt.Fprintf(t.out, "since %s: %s\n", clock(t.options.Since), named(strings.Join(sums, ", "), "nothing"))
	}
	return nil
}
