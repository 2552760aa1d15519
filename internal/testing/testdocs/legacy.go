package testdocs

import (
	"encoding/binary"
	"math"
)

// DOC returns a Word 97 document: its text in two pieces, one with one byte a character and one with two, after a piece
// of properties. The link is a field.
func DOC(c Content) []byte {
	first := c.Text + "\r"
	second := "\x13 HYPERLINK \"" + c.Link + "\" \x14more\x15\r\u65e5\u672c\a"
	const at = 1024
	wide := UTF16(second)
	main := make([]byte, at, at+len(first)+len(wide))
	binary.LittleEndian.PutUint16(main, 0xa5ec)
	binary.LittleEndian.PutUint16(main[2:], 0xc1)
	binary.LittleEndian.PutUint16(main[0x0a:], 0x0200)
	main = append(append(main, first...), wide...)
	n := uint32(len(wide) / 2)
	pieces := le(uint32(0), uint32(len(first)), uint32(len(first))+n, uint16(0), uint32(at*2|1<<30), uint16(0), uint16(0), uint32(at+len(first)), uint16(0))
	clx := append(append([]byte{1, 2, 0, 0xff, 0xff}, 2), le(uint32(len(pieces)), pieces)...)
	binary.LittleEndian.PutUint32(main[0x1a2:], 64)
	binary.LittleEndian.PutUint32(main[0x1a6:], uint32(len(clx)))
	return Compound(Part{"WordDocument", string(main)}, Part{"1Table", string(append(make([]byte, 64), clx...))}, Summary(c))
}

// Record returns a record of Excel: its number and its content.
func Record(kind uint16, parts ...any) []byte {
	b := le(parts...)
	return append(le(kind, uint16(len(b))), b...)
}

// XLS returns an Excel 97 workbook with one sheet. Its shared strings continue over the end of a record, within a
// string and its character size.
func XLS(c Content) []byte {
	wide := UTF16("\u65e5\u672c\u8a9e")
	half := len(c.Text) / 2
	strings := append(Record(0xfc, uint32(3), uint32(3), uint16(len(c.Text)), byte(0), []byte(c.Text[:half])),
		Record(0x3c, byte(1), UTF16(c.Text[half:]), uint16(3), byte(9), uint16(1), wide[:2])...)
	strings = append(strings, Record(0x3c, byte(1), wide[2:], uint32(0), uint16(0), byte(0))...)
	globals := append(Record(0x809, uint16(0x600), uint16(5), make([]byte, 12)), Record(0x42, uint16(1200))...)
	name := "Tides"
	sheetAt := len(globals) + len(Record(0x85, make([]byte, 8+len(name)))) + len(strings) + 4
	globals = append(globals, Record(0x85, uint32(sheetAt), uint16(0), byte(len(name)), byte(0), []byte(name))...)
	globals = append(append(globals, strings...), Record(0x0a)...)
	cell := func(row, column int) []byte { return le(uint16(row), uint16(column), uint16(0)) }
	moniker := []byte{0xe0, 0xc9, 0xea, 0x79, 0xf9, 0xba, 0xce, 0x11, 0x8c, 0x82, 0x00, 0xaa, 0x00, 0x4b, 0xa9, 0x0b}
	link := UTF16(c.Link + "\x00")
	sheet := Record(0x809, uint16(0x600), uint16(0x10), make([]byte, 12))
	for _, r := range [][]byte{
		Record(0xfd, cell(0, 0), uint32(0)), Record(0xfd, cell(0, 1), uint32(1)), Record(0xfd, cell(0, 2), uint32(99)),
		Record(0x203, cell(1, 0), math.Float64bits(42.5)), Record(0x27e, cell(1, 1), uint32(4217<<2|3)),
		Record(0xbd, uint16(2), uint16(0), uint16(0), uint32(7<<2|2), uint16(0), uint32(8<<2|2), uint16(1)),
		Record(0x204, cell(3, 0), uint16(5), byte(0), []byte("label")), Record(0x205, cell(3, 1), byte(1), byte(0)),
		Record(0x06, cell(4, 0), math.Float64bits(1.5), make([]byte, 6)),
		Record(0x06, cell(4, 1), []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff}, make([]byte, 6)), Record(0x207, uint16(6), byte(0), []byte("result")),
		Record(0x1b6, make([]byte, 10), uint16(9), make([]byte, 6)), Record(0x3c, byte(0), []byte("A comment")), Record(0x3c, make([]byte, 16)),
		Record(0x1b8, make([]byte, 8), make([]byte, 16), uint32(2), uint32(3), moniker, uint32(len(link)), link), Record(0x0a),
	} {
		sheet = append(sheet, r...)
	}
	return Compound(Part{"Workbook", string(append(globals, sheet...))}, Summary(c))
}

// Slide returns a record of PowerPoint; one with children is a container.
func Slide(kind, instance uint16, parts ...any) []byte {
	b := le(parts...)
	version := instance << 4
	switch kind {
	case 0x03e8, 0x03ee, 0x03f0, 0x03f8, 0x0ff0, 0x0409, 0x0fd7, 0x040c, 0xf00d:
		version |= 0xf
	}
	return append(le(version, kind, uint32(len(b))), b...)
}

// PPT returns a PowerPoint 97 presentation that was saved twice: the first slide of the earlier save is no longer part
// of it.
func PPT(c Content) []byte {
	text := func(s string) []byte { return Slide(0x0fa8, 0, []byte(s)) }
	slide := func(s string) []byte { return Slide(0x03ee, 2, Slide(0x040c, 0, Slide(0xf00d, 0, text(s)))) }
	var stream []byte
	add := func(b []byte) (at uint32) {
		at = uint32(len(stream))
		stream = append(stream, b...)
		return at
	}
	edit := func(before, directory uint32) []byte {
		return Slide(0x0ff5, 0, uint32(0), uint32(0), before, directory, uint32(1), uint32(9), uint32(0))
	}
	old, master := add(slide("Of an earlier save.")), add(Slide(0x03f8, 0, text("Click to edit Master title style")))
	first := add(edit(0, add(Slide(0x1772, 0, uint32(2<<20|2), old, master))))
	persist := func(id uint32) []byte { return Slide(0x03f3, 0, id, make([]byte, 16)) }
	document := Slide(0x03e8, 0,
		Slide(0x0ff0, 1, persist(3)),
		Slide(0x0ff0, 0, persist(2), Slide(0x0fa0, 0, UTF16(c.Text+"\r\u65e5\u672c")), persist(4), text("An outline.")),
		Slide(0x0ff0, 2, persist(5)),
		Slide(0x0409, 0, Slide(0x0fd7, 0, Slide(0x0fba, 0, UTF16("a name")), Slide(0x0fba, 1, UTF16(c.Link)))))
	parts := []any{uint32(2<<20 | 1), add(document), add(slide("A text box.")), uint32(2<<20 | 4), add(slide("The second slide.")), add(Slide(0x03f0, 0, text("A note.")))}
	last := add(edit(first, add(Slide(0x1772, 0, parts...))))
	user := le(uint16(0), uint16(0x0ff6), uint32(20), uint32(20), uint32(0xe391c05f), last)
	return Compound(Part{"PowerPoint Document", string(stream)}, Part{"Current User", string(user)}, Summary(c))
}
