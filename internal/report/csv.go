package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"time"
)

// CSV writes reports by RFC 4180, with a header line. A cell that a spreadsheet would
// take for a formula gets an apostrophe before it: much of a report comes from
// strangers.
type CSV struct {
	out     *csv.Writer
	columns []Column
	grouped bool // the first column is Table.Of
	err     error
}

// NewCSV returns a CSV for reports of a kind, and writes the header.
func NewCSV(w io.Writer, kind string) *CSV {
	c := &CSV{out: csv.NewWriter(w), columns: Columns(kind), grouped: !Streamed(kind)}
	c.out.UseCRLF = true
	var header []string
	for _, column := range c.columns {
		header = append(header, column.Name)
	}
	c.row(header)
	return c
}

// Put writes the rows of an entry. Where its table lacks a column, the cell is empty.
func (c *CSV) Put(e Entry) error {
	for _, t := range e.Tables() {
		line := make([]string, len(c.columns))
		if c.grouped {
			line[0] = t.Of
		}
		for _, row := range t.Rows {
			for i, column := range t.Columns {
				if at := slices.IndexFunc(c.columns, func(x Column) bool { return x.Name == column.Name }); at >= 0 {
					line[at] = csvCell(row[i])
				}
			}
			c.row(slices.Clone(line))
		}
	}
	return c.err
}

// row writes a line. An error stays.
func (c *CSV) row(cells []string) {
	if c.err != nil {
		return
	}
	for i := range cells {
		cells[i] = harmless(cells[i])
	}
	c.err = c.out.Write(cells)
}

// End writes the rows that are still in memory.
func (c *CSV) End() error {
	if c.err == nil {
		c.out.Flush()
		c.err = c.out.Error()
	}
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

func csvCell(v any) string {
	t, ok := v.(time.Time)
	switch {
	case !ok:
		return fmt.Sprint(v)
	case t.IsZero():
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
