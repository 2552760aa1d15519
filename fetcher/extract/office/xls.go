package office

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// Types of records of Excel (MS-XLS section 2.3).
const (
	xlsFormula    = 0x0006
	xlsEOF        = 0x000a
	xlsDateMode   = 0x0022
	xlsFilePass   = 0x002f
	xlsContinue   = 0x003c
	xlsCodePage   = 0x0042
	xlsBoundSheet = 0x0085
	xlsMulRK      = 0x00bd
	xlsRString    = 0x00d6
	xlsXF         = 0x00e0
	xlsSST        = 0x00fc
	xlsLabelSST   = 0x00fd
	xlsTXO        = 0x01b6
	xlsHLink      = 0x01b8
	xlsNumber     = 0x0203
	xlsLabel      = 0x0204
	xlsBoolErr    = 0x0205
	xlsString     = 0x0207
	xlsRK         = 0x027e
	xlsFormat     = 0x041e
	xlsBOF        = 0x0809
	xlsSeriesText = 0x100d
	biff8         = 0x0600
)

// maxSharedStrings bounds the shared strings of a workbook; cells with others have no text.
const maxSharedStrings = 2_000_000

// xlsReader reads one workbook: BIFF8, or BIFF5 of Excel 5 and 95.
type xlsReader struct {
	*legacyReader
	in     []byte
	at     int
	wide   bool           // BIFF8: strings declare their character size
	sheets map[int]string // names by the position of the sheet
	shared []string
	dates  dates
	n      int
}

// xls reads the cells of each sheet, row by row, after the sheet's name, with comments and text boxes.
func (r *legacyReader) xls(c *compound) error {
	in := c.stream("Workbook")
	if len(in) == 0 {
		in = c.stream("Book")
	}
	x := &xlsReader{legacyReader: r, in: in, sheets: map[int]string{}}
	if len(in) < 8 || le16(in, 0) != xlsBOF {
		return errors.New("its workbook does not begin like one")
	}
	for x.at+4 <= len(x.in) {
		if x.n++; x.n%tokensPerLook == 0 && x.ctx.Err() != nil {
			return x.ctx.Err()
		}
		if x.b.Full() {
			x.b.Cut()
			return nil
		}
		begin := x.at
		kind, data := x.next()
		if kind == xlsFilePass {
			return extract.ErrEncrypted
		}
		x.record(kind, begin, data)
	}
	return nil
}

// next reads a record.
func (x *xlsReader) next() (kind int, data []byte) {
	kind, length := le16(x.in, x.at), le16(x.in, x.at+2)
	data = part(x.in, int64(x.at)+4, int64(length))
	x.at += 4 + length
	return kind, data
}

// continued returns the records that continue the last one.
func (x *xlsReader) continued() (more [][]byte) {
	for le16(x.in, x.at) == xlsContinue && x.at+4 <= len(x.in) {
		_, data := x.next()
		more = append(more, data)
	}
	return more
}

func (x *xlsReader) record(kind, begin int, d []byte) {
	switch kind {
	case xlsBOF:
		x.wide = le16(d, 0) == biff8
		x.cell(x.sheets[begin])
	case xlsCodePage:
		if page := codePage(le16(d, 0)); page != nil {
			x.page = page
		}
	case xlsBoundSheet:
		if len(d) > 7 {
			x.sheets[int(le32(d, 0))] = x.short(d[6:])
		}
	case xlsSST:
		x.strings(append([][]byte{d}, x.continued()...))
	case xlsLabelSST:
		if i := int64(le32(d, 6)); len(d) >= 10 && i < int64(len(x.shared)) {
			x.cell(x.shared[i])
		}
	case xlsLabel, xlsRString:
		x.cell(x.long(part(d, 6, int64(len(d)))))
	case xlsString:
		x.cell(x.long(d))
	case xlsNumber:
		x.float(le16(d, 4), part(d, 6, 8))
	case xlsRK:
		x.number(le16(d, 4), rk(le32(d, 6)))
	case xlsMulRK:
		for at := 4; at+6 <= len(d)-2; at += 6 {
			x.number(le16(d, at), rk(le32(d, at+2)))
		}
	case xlsBoolErr:
		if len(d) >= 8 && d[7] == 0 {
			x.boolean(d[6])
		}
	case xlsFormula:
		x.formula(le16(d, 4), part(d, 6, 8))
	case xlsTXO:
		x.textBox(le16(d, 10))
	case xlsHLink:
		x.b.Link(monikerURL(d))
	default:
		x.format(kind, d)
	}
}

// format reads date formats of cells, and titles of charts.
func (x *xlsReader) format(kind int, d []byte) {
	switch kind {
	case xlsDateMode:
		x.dates.from1904 = le16(d, 0) == 1
	case xlsFormat:
		if code := part(d, 2, int64(len(d))); x.wide {
			x.dates.define(le16(d, 0), x.long(code))
		} else {
			x.dates.define(le16(d, 0), x.short(code))
		}
	case xlsXF:
		x.dates.style(le16(d, 2))
	case xlsSeriesText:
		x.cell(x.short(part(d, 2, int64(len(d)))))
	}
}

// cell writes a cell, or the name of a sheet.
func (x *xlsReader) cell(text string) {
	if text != "" {
		x.b.Break()
		x.b.Write([]byte(text))
		x.b.Break()
	}
}

// formula writes the value of a formula; a string value follows in a separate record.
func (x *xlsReader) formula(style int, value []byte) {
	switch {
	case len(value) < 8:
	case value[6] != 0xff || value[7] != 0xff:
		x.float(style, value)
	case value[0] == 1:
		x.boolean(value[2])
	}
}

func (x *xlsReader) boolean(v byte) {
	if v != 0 {
		x.cell("TRUE")
	} else {
		x.cell("FALSE")
	}
}

func (x *xlsReader) float(style int, value []byte) {
	if len(value) == 8 {
		x.number(style, math.Float64frombits(binary.LittleEndian.Uint64(value)))
	}
}

func (x *xlsReader) number(style int, v float64) {
	if date := x.dates.shown(style, v); date != "" {
		x.cell(date)
	} else if !math.IsNaN(v) && !math.IsInf(v, 0) {
		x.cell(strconv.FormatFloat(v, 'g', -1, 64))
	}
}

// rk decodes a number in four bytes (MS-XLS section 2.5.217).
func rk(n uint32) float64 {
	v := math.Float64frombits(uint64(n&^3) << 32)
	if n&2 != 0 {
		v = float64(int32(n) >> 2) //nolint:gosec // signed in the file
	}
	if n&1 != 0 {
		v /= 100
	}
	return v
}

// short decodes a string with a length of one byte, long one with two.
func (x *xlsReader) short(d []byte) string {
	if len(d) == 0 {
		return ""
	}
	return x.characters(d[1:], int(d[0]))
}

func (x *xlsReader) long(d []byte) string {
	if len(d) < 2 {
		return ""
	}
	return x.characters(d[2:], le16(d, 0))
}

// characters decodes n characters, after a byte with their size.
func (x *xlsReader) characters(d []byte, n int) string {
	switch {
	case !x.wide:
		return decodePage(x.page, part(d, 0, int64(n)))
	case len(d) == 0:
		return ""
	case d[0]&1 != 0:
		return utf16Text(part(d, 1, 2*int64(n)))
	}
	return latin(part(d, 1, int64(n)))
}

// textBox writes the text of a comment or a text box, which is in the first of its continuation records.
func (x *xlsReader) textBox(n int) {
	if more := x.continued(); len(more) > 0 && n > 0 {
		wide := x.wide
		x.wide = true
		x.cell(x.characters(more[0], n))
		x.wide = wide
	}
}

// urlMoniker is the class of a hyperlink target that is a URL (MS-OSHARED section 2.3.7.6).
var urlMoniker = []byte{0xe0, 0xc9, 0xea, 0x79, 0xf9, 0xba, 0xce, 0x11, 0x8c, 0x82, 0x00, 0xaa, 0x00, 0x4b, 0xa9, 0x0b}

func monikerURL(d []byte) string {
	_, d, ok := bytes.Cut(d, urlMoniker)
	if !ok {
		return ""
	}
	url := part(d, 4, int64(le32(d, 0)))
	for i := 0; i+2 <= len(url); i += 2 {
		if url[i] == 0 && url[i+1] == 0 {
			url = url[:i]
		}
	}
	return utf16Text(url)
}
