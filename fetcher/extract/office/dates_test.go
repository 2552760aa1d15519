package office

import (
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
)

func TestDateForms(t *testing.T) {
	for code, want := range map[string]dateForm{
		"General": 0, "0.00": 0, "#,##0.00 \"days\"": 0, `0\d`: 0, "_-* #,##0_d": 0, "[Red]0;[Blue]-0": 0, "[h]:mm": 0, "[MM]:ss": 0, "@": 0,
		"0;yyyy": 0, "": 0, "[": 0, `\`: 0,
		"dd/mm/yyyy": showsDate, "[$-409]mmm yy;@": showsDate, "MMMM": showsDate, "yyyy\\-mm\\-dd": showsDate, "[Red]d": showsDate,
		"h:mm AM/PM": showsTime, "mm:ss.0": showsTime, "m/d/yy h:mm": showsDate | showsTime,
	} {
		if got := formOf(code); got != want {
			t.Errorf("formOf(%q) = %d, want %d", code, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	const at = showsDate | showsTime
	d := dates{styles: []dateForm{0, showsDate, showsTime, at}}
	for _, tt := range []struct {
		style int
		v     float64
		want  string
	}{
		{0, 39219, ""}, {-1, 1, ""}, {4, 1, ""}, {1, -1, ""}, {1, 1e18, ""},
		{1, 1, "1900-01-01"}, {1, 59, "1900-02-28"}, {1, 61, "1900-03-01"}, {1, 39219, "2007-05-17"}, {1, 39219.9, "2007-05-17"},
		{1, 2958465, "9999-12-31"}, {2, 0.5, "12:00:00"}, {2, 39219.75, "18:00:00"}, {3, 39219.573611111111, "2007-05-17T13:46:00"},
		{3, 39219.999999, "2007-05-18T00:00:00"},
	} {
		if got := d.shown(tt.style, tt.v); got != tt.want {
			t.Errorf("style %d, %v: %q, want %q", tt.style, tt.v, got, tt.want)
		}
	}
	d.from1904 = true
	if got := d.shown(1, 37757); got != "2007-05-17" {
		t.Errorf("from 1904: %q", got)
	}
}

// TestDatesOfWorkbooks: a cell with the number format of a date is a date, also in formulas.
func TestDatesOfWorkbooks(t *testing.T) {
	xlsx := sheetOf(`<c s="1"><v>39219</v></c><c s="2" t="n"><f>NOW()</f><v>39219.5</v></c><c s="0"><v>39219</v></c><c s="1" t="str"><v>7</v></c>`,
		testdocs.Part{Name: "xl/styles.xml", Body: `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="d/m h:mm"/></numFmts>` +
			`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`})
	number := func(style uint16, kind uint16, more ...any) []byte {
		return testdocs.Record(kind, append([]any{uint16(0), uint16(0), style}, more...)...)
	}
	var book []byte
	for _, record := range [][]byte{
		testdocs.Record(xlsBOF, uint16(biff8), uint16(5), make([]byte, 12)),
		testdocs.Record(xlsFormat, uint16(164), uint16(8), byte(0), []byte("d/m h:mm")),
		testdocs.Record(xlsXF, uint16(0), uint16(0)), testdocs.Record(xlsXF, uint16(0), uint16(14)), testdocs.Record(xlsXF, uint16(0), uint16(164)),
		number(1, xlsNumber, 39219.0), number(2, xlsFormula, 39219.5), number(0, xlsNumber, 39219.0), number(1, xlsRK, uint32(39219<<2|2)),
		testdocs.Record(xlsMulRK, uint16(0), uint16(0), uint16(1), uint32(39220<<2|2), uint16(0)),
		testdocs.Record(xlsSeriesText, uint16(0), byte(5), byte(0), []byte("Title")),
	} {
		book = append(book, record...)
	}
	for format, tt := range map[Format]struct {
		body []byte
		want string
	}{
		XLSX: {xlsx, "Sheet 2007-05-17 2007-05-17T12:00:00 39219 7"},
		XLS: {
			testdocs.Compound(testdocs.Part{Name: "Workbook", Body: string(book)}),
			"2007-05-17 2007-05-17T12:00:00 39219 2007-05-17 2007-05-18 Title",
		},
	} {
		if p, err := Read(t.Context(), format, tt.body); err != nil || p.Text != tt.want {
			t.Errorf("%s: %q, %v; want %q", format, p.Text, err, tt.want)
		}
	}
}
