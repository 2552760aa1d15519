package office

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxStyles bounds the number formats and styles of a workbook.
const maxStyles = 100_000

// dateForm describes how a number format shows a date; the zero value shows a number.
type dateForm uint8

const (
	showsDate dateForm = 1 << iota
	showsTime
)

// dates determines which cells of a workbook are dates, by the number format of their style.
type dates struct {
	from1904 bool             // days are counted from 1904-01-01
	codes    map[int]dateForm // formats that the workbook defines, by id
	styles   []dateForm       // of cells, by the index that cells refer to
	inStyles bool             // in cellXfs
}

// define adds a number format of the workbook.
func (d *dates) define(id int, code string) {
	if d.codes == nil {
		d.codes = map[int]dateForm{}
	}
	if len(d.codes) < maxStyles {
		d.codes[id] = formOf(code)
	}
}

// style adds a style of cells with the number format of an id.
func (d *dates) style(id int) {
	form, ok := d.codes[id]
	switch { // ECMA-376 part 1, section 18.8.30
	case ok:
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id == 57, id == 58:
		form = showsDate
	case id >= 18 && id <= 21, id >= 32 && id <= 35, id == 45, id == 47, id == 55, id == 56:
		form = showsTime
	case id == 22:
		form = showsDate | showsTime
	}
	if len(d.styles) < maxStyles {
		d.styles = append(d.styles, form)
	}
}

// formOf parses the code of a number format, such as dd/mm/yyyy hh:mm (ECMA-376 part 1, section 18.8.31). A duration,
// such as [h]:mm, counts as a number.
func formOf(code string) (form dateForm) {
	code, months := strings.ToLower(code), false
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"':
			i += 1 + max(0, strings.IndexByte(code[i+1:], '"'))
		case '\\', '_', '*':
			i++
		case '[':
			inside, _, _ := strings.Cut(code[i+1:], "]")
			if strings.Trim(inside, "h") == "" || strings.Trim(inside, "m") == "" || strings.Trim(inside, "s") == "" {
				return 0
			}
			i += len(inside) + 1
		case ';': // the rest is for negative numbers
			i = len(code)
		case 'y', 'd':
			form |= showsDate
		case 'h', 's':
			form |= showsTime
		case 'm':
			months = true
		}
	}
	if months && form == 0 {
		form = showsDate
	}
	return form
}

// shown returns a cell's number as its style shows it: a date and a time of day as ISO 8601, and "" for a plain number.
func (d *dates) shown(style int, v float64) string {
	if style < 0 || style >= len(d.styles) || d.styles[style] == 0 || v < 0 || v >= 2_958_466 || math.IsNaN(v) {
		return ""
	}
	base := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case d.from1904:
		base = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case v < 60: // the format counts 29 February 1900 as day 60
		base = base.AddDate(0, 0, 1)
	}
	days := math.Floor(v)
	t := base.AddDate(0, 0, int(days)).Add(time.Duration(math.Round((v-days)*86400)) * time.Second)
	return t.Format([...]string{showsDate: time.DateOnly, showsTime: time.TimeOnly, showsDate | showsTime: "2006-01-02T15:04:05"}[d.styles[style]])
}

// start reads the styles part of a workbook.
func (d *dates) start(e *xml.StartElement) bool {
	switch e.Name.Local {
	case "numFmt":
		if id, err := strconv.Atoi(attribute(e, "numFmtId")); err == nil && !d.inStyles {
			d.define(id, attribute(e, "formatCode"))
		}
	case "cellXfs":
		d.inStyles = true
	case "xf":
		if d.inStyles {
			id, _ := strconv.Atoi(attribute(e, "numFmtId")) // 0, the general format, where it is missing
			d.style(id)
		}
	case "dxfs": // formats of conditions
		return true
	}
	return false
}

func (d *dates) end(name string) { d.inStyles = d.inStyles && name != "cellXfs" }
func (*dates) text([]byte)       {}
