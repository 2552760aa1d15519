package office

import (
	"encoding/xml"
	"errors"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// readXLSX reads a workbook: for each sheet its name and cells, row by row, then
// comments. Numbers are as they are stored, so a date is a count of days.
func readXLSX(a *archive, b *extract.Builder) error {
	root := a.relationsOf("")
	main := mainPart(&root, "xl/workbook.xml")
	officeProperties(a, b)
	sheets := identified{element: "sheet"}
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
	for _, sheet := range sheets.found {
		part := related.byID(sheet.id)
		b.Break()
		b.Write([]byte(sheet.name))
		b.Break()
		if part == "" {
			continue
		}
		if err := a.walk(part, &cells{b: b, shared: shared.all}); err != nil && !errors.Is(err, errNoPart) {
			return err
		}
		of := a.relationsOf(part)
		of.links(b)
		for _, comments := range of.parts("comments") {
			b.Break()
			if err := a.walk(comments, &words{b: b}); err != nil && !errors.Is(err, errNoPart) {
				return err
			}
		}
	}
	return nil
}

// sharedStrings are what cells refer to by number.
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
	case "rPh": // how it is pronounced
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

// cells takes the values out of a sheet.
type cells struct {
	b      *extract.Builder
	shared []string
	kind   string // of the open cell
	in     bool   // in a value or a text
	value  strings.Builder
}

func (c *cells) start(e *xml.StartElement) bool {
	switch e.Name.Local {
	case "c":
		c.kind = attribute(e, "t")
	case "v", "t":
		c.in = true
		c.value.Reset()
	case "f", "rPh": // a formula: its value is what is seen
		return true
	}
	return false
}

func (c *cells) end(name string) {
	switch name {
	case "v", "t":
		c.in = false
		if c.b.Full() { // nor is a long shared string copied for each cell
			c.b.Cut()
			return
		}
		c.b.Write([]byte(c.shown(name)))
	case "c", "row", "oddHeader", "oddFooter":
		c.b.Break()
	}
}

// shown is what a cell shows for the value that was read.
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
	}
	return value
}

func (c *cells) text(t []byte) {
	if c.in {
		c.value.Write(t)
	}
}
