package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Lines writes reports for people.
type Lines struct {
	out     io.Writer
	kind    string
	since   time.Time
	urls    int            // broken ones
	alone   int            // those of them that no page is known to link to
	changes map[string]int // by kind
}

// NewLines returns a Lines for a kind of report. since is that of the report's Options.
func NewLines(w io.Writer, kind string, since time.Time) *Lines {
	return &Lines{out: w, kind: kind, since: since, changes: map[string]int{}}
}

// Put writes an entry.
func (l *Lines) Put(e Entry) error {
	switch e := e.(type) {
	case Broken:
		l.broken(&e)
	case Change:
		l.change(&e)
	case Round:
		fmt.Fprintf(l.out, "%s  %s\n", at(e.At), clock.Localize(e.String()))
	case *Errors:
		return l.errors(e)
	case *Documents:
		return l.documents(e)
	}
	return nil
}

// broken writes a URL and the first pages.
func (l *Lines) broken(b *Broken) {
	if b.Part <= 1 {
		l.urls++
		words := b.Words
		if words == "" {
			words = b.Error
		}
		fmt.Fprintf(l.out, "%s  %s\n  since %s, %s", b.URL, clock.Localize(wire.Plain(words)), at(b.Since), plural(b.Visits, "visit"))
		if b.LastAt != nil {
			fmt.Fprintf(l.out, ", the last one %s", at(*b.LastAt))
		}
		if b.Forgotten {
			fmt.Fprint(l.out, "; forgotten since")
		}
		if b.Pages == 0 {
			l.alone++
			fmt.Fprint(l.out, "; no page is known to link to it\n")
		} else {
			fmt.Fprintf(l.out, "; linked from %s:\n", plural(b.Pages, "page"))
		}
	}
	for _, from := range b.LinkedFrom {
		if from.Redirect != "" {
			fmt.Fprintf(l.out, "    %s  (as %s, which redirects)\n", from.Page, from.Redirect)
			continue
		}
		fmt.Fprintf(l.out, "    %s\n", from.Page)
	}
	if more := b.Pages - len(b.LinkedFrom); more > 0 && b.Part == 0 {
		fmt.Fprintf(l.out, "    and %d more (--pages 0 names all)\n", more)
	}
}

// change writes a line.
func (l *Lines) change(c *Change) {
	l.changes[c.Change]++
	fmt.Fprintf(l.out, "%-10s  %s  %s", c.Change, at(c.At), c.URL)
	if c.Words != "" {
		fmt.Fprintf(l.out, "  %s", clock.Localize(wire.Plain(c.Words)))
	}
	fmt.Fprintln(l.out)
}

// errors writes the classes, then the hosts.
func (l *Lines) errors(e *Errors) error {
	fmt.Fprintf(l.out, "%s with an error, %d forgotten, on %s\n", plural(e.URLs, "URL"), e.Forgotten, plural(e.Hosts, "host"))
	if len(e.Classes) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	all := e.All()
	textHead(table, "all hosts", all.Columns)
	textRows(table, &all)
	for i := range e.ByHost {
		h := &e.ByHost[i]
		sums := ErrorCount{Class: h.Host, URLs: h.URLs, Forgotten: h.Forgotten}
		var row []string
		for _, c := range errorColumns {
			cell := "" // of a single class alone
			if c.Shows == Word || c.Shows == Count {
				cell = textCell(&c.Column, c.cell(&sums))
			}
			row = append(row, cell)
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
		of := h.Table()
		textRows(table, &of)
	}
	if more := e.Hosts - len(e.ByHost); more > 0 {
		fmt.Fprintf(table, "and %d more (--top 0 names all)\n", more)
	}
	return table.Flush()
}

// documents writes the counts.
func (l *Lines) documents(d *Documents) error {
	dead, refused := 0, ""
	for _, s := range d.BySource {
		dead += s.Dead
	}
	if dead > 0 {
		refused = fmt.Sprintf("; %s refused by targets", plural(dead, "order"))
	}
	fmt.Fprintf(l.out, "%s, %s in the index%s\n", plural(d.URLs, "URL"), plural(d.Indexed, "document"), refused)
	table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	groups := d.Groups()
	groups[0], groups[1] = groups[1], groups[0] // what became of the URLs comes first
	for _, group := range groups {
		title := "by " + group.Of
		if group.Of == "type" {
			title += ", of pages that were had"
		}
		textHead(table, title, group.Columns)
		textRows(table, &group)
	}
	if more := d.Hosts - len(d.ByHost); more > 0 {
		fmt.Fprintf(table, "  and %d more (--top 0 names all)\n", more)
	}
	return table.Flush()
}

// textHead writes the names of columns, with a title in place of the first one's.
func textHead(w io.Writer, title string, columns []Column) {
	fmt.Fprintf(w, "\n%s", title)
	for _, c := range columns[1:] {
		name := c.Name
		if name == "urls" {
			name = "URLs"
		}
		fmt.Fprintf(w, "\t%s", name)
	}
	fmt.Fprintln(w)
}

func textRows(w io.Writer, t *Table) {
	for _, row := range t.Rows {
		for i := range row {
			before := "\t"
			if i == 0 {
				before = "  "
			}
			fmt.Fprintf(w, "%s%s", before, textCell(&t.Columns[i], row[i]))
		}
		fmt.Fprintln(w)
	}
}

// textCell formats a cell. It removes control characters and changes of direction, which come from strangers.
func textCell(c *Column, v any) string {
	if t, ok := v.(time.Time); ok {
		return at(t)
	}
	s := fmt.Sprint(v)
	if s == "" && c.Empty != "" {
		return "(" + c.Empty + ")"
	}
	if c.Shows == Text {
		return clock.Localize(wire.Plain(s))
	}
	return s
}

// End writes the sums.
func (l *Lines) End() error {
	switch l.kind {
	case KindBroken:
		fmt.Fprint(l.out, plural(l.urls, "broken URL"))
		if l.alone > 0 {
			fmt.Fprintf(l.out, ", %d of them without a page that is known to link there", l.alone)
		}
		fmt.Fprintln(l.out)
	case KindChanges:
		var sums []string
		for _, kind := range ChangeKinds() {
			if n := l.changes[kind]; n > 0 {
				sums = append(sums, fmt.Sprintf("%d %s", n, kind))
			}
		}
		if len(sums) == 0 {
			sums = []string{"nothing"}
		}
		fmt.Fprintf(l.out, "since %s: %s\n", at(l.since), strings.Join(sums, ", "))
	}
	return nil
}

func at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock.Local(t)
}

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
