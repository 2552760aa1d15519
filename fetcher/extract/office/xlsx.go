package office

import (
	"encoding/xml"
	"errors"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// readXLSX reads a workbook: for each sheet its name and cells, row by row, then drawings and comments. Numbers are as
// stored, dates in ISO 8601.
func readXLSX(a *archive, b *extract.Builder) error {
	root := a.relationsOf("")
	main := mainPart(&root, "xl/workbook.xml")
	officeProperties(a, b)
	sheets := workbook{identified: identified{element: "sheet"}}
	if err := a.walk(main, &sheets); err != nil {
		return err
	}
	related := a.relationsOf(main)
	shared := sharedStrings{}
	for _, part := range related.parts("sharedStrings") {
		if err := a.walk(part, &shared); err != nil && !errors.Is(err, errNoPart) {
			return err
		}
	}
	for _, part := range related.parts("styles") {
		_ = a.walk(part, &sheets.dates) // optional: without it, dates are numbers
	}
	for _, sheet := range sheets.found {
		part := related.byID(sheet.id)
		b.Break()
		b.Write([]byte(sheet.name))
		b.Break()
		if part == "" {
			continue
		}
		if err := a.walk(part, &cells{b: b, shared: shared.all, dates: &sheets.dates}); err != nil && !errors.Is(err, errNoPart) {
			return err
		}
		of := a.relationsOf(part)
		of.links(b)
		if err := a.drawn(&of, b, "drawing"); err != nil {
			return err
		}
		for _, comments := range of.parts("comments") {
			b.Break()
			if err := a.walk(comments, &words{b: b}); err != nil && !errors.Is(err, errNoPart) {
				return err
			}
		}
	}
	return nil
}

// workbook holds the sheets in order, and the date formats.
type workbook struct {
	identified
	dates dates
}

func (w *workbook) start(e *xml.StartElement) bool {
	if e.Name.Local == "workbookPr" {
		w.dates.from1904, _ = strconv.ParseBool(attribute(e, "date1904"))
	}
	return w.identified.start(e)
}

// sharedStrings are the strings that cells refer to by number.
type sharedStrings struct {
	all []string
	in  bool
	one strings.Builder
}

func (s *sharedStrings) start(e *xml.StartElement) bool {
	switch e.Name.Local {
	case "si":
		s.one.Reset()
	case "t":
		s.in = true
	case "rPh": // pronunciation
		return true
	}
	return false
}

func (s *sharedStrings) end(name string) {
	switch name {
	case "si":
		s.all = append(s.all, s.one.String())
	case "t":
		s.in = false
	}
}

func (s *sharedStrings) text(t []byte) {
	if s.in {
		s.one.Write(t)
	}
}

// cells extracts the values of a sheet.
type cells struct {
	b      *extract.Builder
	shared []string
	dates  *dates
	style  int
	kind   string // of the open cell
	in     bool   // in a value or a text
	value  strings.Builder
}

func (c *cells) start(e *xml.StartElement) bool {
	switch e.Name.Local {
	case "c":
		c.kind = attribute(e, "t")
		c.style, _ = strconv.Atoi(attribute(e, "s")) // 0 is the default
	case "v", "t":
		c.in = true
		c.value.Reset()
	case "f", "rPh": // a formula: only its value is visible
		return true
	}
	return false
}

func (c *cells) end(name string) {
	switch name {
	case "v", "t":
		c.in = false
		if c.b.Full() { // avoids copying a long shared string for each cell
			c.b.Cut()
			return
		}
		c.b.Write([]byte(c.shown(name)))
	case "c", "row", "oddHeader", "oddFooter":
		c.b.Break()
	}
}

// shown returns the text that a cell shows for the value just read.
func (c *cells) shown(element string) string {
	value := c.value.String()
	switch {
	case element == "t":
	case c.kind == "s":
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 0 || n >= len(c.shared) {
			return ""
		}
		return c.shared[n]
	case c.kind == "e": // an error such as #DIV/0!
		return ""
	case c.kind == "b":
		if value == "1" {
			return "TRUE"
		}
		return "FALSE"
	case c.kind == "" || c.kind == "n":
		if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			if date := c.dates.shown(c.style, v); date != "" {
				return date
			}
		}
	}
	return value
}

func (c *cells) text(t []byte) {
	if c.in {
		c.value.Write(t)
	}
}
