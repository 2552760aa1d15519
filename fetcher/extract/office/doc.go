package office

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// Fields of Word's file information block (MS-DOC section 2.5).
const (
	wordIdent      = 0xa5ec
	oldWordIdent   = 0xa5dc // Word 6 and 95
	fibFlags       = 0x0a
	fibEncrypted   = 0x0100
	fibTable1      = 0x0200 // the table stream is 1Table, else 0Table
	fibComplex     = 0x0004
	fibTextFrom    = 0x18
	fibTextLength  = 0x4c   // the first of eight lengths: text, footnotes, headers, macros, comments, endnotes, text boxes
	fibPieces      = 0x01a2 // position and length of the piece table
	oldFibTextSize = 0x34
	unicodeFib     = 0xc1 // nFib of Word 97
)

// doc reads a Word 97 to 2003 document by its piece table, or one of Word 6 or 95.
func (r *legacyReader) doc(c *compound) error {
	main := c.stream("WordDocument")
	ident, version, flags := le16(main, 0), le16(main, 2), le16(main, fibFlags)
	switch {
	case ident != wordIdent && ident != oldWordIdent:
		return fmt.Errorf("its stream WordDocument begins with %#04x", ident)
	case flags&fibEncrypted != 0:
		return extract.ErrEncrypted
	case version < unicodeFib:
		if flags&fibComplex != 0 {
			return errors.New("it was fast-saved by Word 6 or 95")
		}
		w := wordText{legacyReader: r}
		w.write(decodePage(r.page, part(main, int64(le32(main, fibTextFrom)), int64(le32(main, oldFibTextSize)))))
		return nil
	}
	table := "0Table"
	if flags&fibTable1 != 0 {
		table = "1Table"
	}
	pieces, err := pieceTable(part(c.stream(table), int64(le32(main, fibPieces)), int64(le32(main, fibPieces+4))))
	if err != nil {
		return err
	}
	return r.pieces(main, pieces)
}

// pieceTable returns the list of pieces in a Clx (MS-DOC section 2.9.38), after the entries for properties.
func pieceTable(clx []byte) ([]byte, error) {
	for len(clx) > 0 {
		switch clx[0] {
		case 1:
			clx = clx[min(3+le16(clx, 1), len(clx)):]
		case 2:
			if p := part(clx, 5, int64(le32(clx, 1))); len(p) >= 16 {
				return p, nil
			}
			return nil, errors.New("its piece table is empty")
		default:
			return nil, errors.New("its piece table is damaged")
		}
	}
	return nil, errors.New("it has no piece table")
}

// maxTextShare bounds the text of all pieces, as a multiple of the stream's length. Pieces do not overlap, except in
// files made to take long.
const maxTextShare = 2

// pieces writes the text of a list of pieces: n+1 character positions, and n descriptors with the position and
// character size of each piece.
func (r *legacyReader) pieces(main, list []byte) error {
	const (
		descriptor = 8
		compressed = 1 << 30
	)
	w := wordText{legacyReader: r}
	n := (len(list) - 4) / (4 + descriptor)
	left := maxTextShare * len(main)
	for i := range n {
		if r.b.Full() || left <= 0 {
			r.b.Cut()
			return nil
		}
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		from, to := int64(le32(list, 4*i)), int64(le32(list, 4*i+4))
		at := le32(list, 4*(n+1)+descriptor*i+2)
		if to < from {
			return errors.New("a piece of its text ends before it begins")
		}
		var text []byte
		if at&compressed != 0 {
			text = part(main, int64(at&(compressed-1))/2, to-from)
			w.write(decodePage(r.page, text))
		} else {
			text = part(main, int64(at), 2*(to-from))
			w.write(utf16Text(text))
		}
		left -= len(text)
	}
	return nil
}

// wordText collects Word's text: characters below the blank are control marks.
type wordText struct {
	*legacyReader
	fields []field // open ones, the innermost last
}

// field is a field: its instruction, up to its result, is not text.
type field struct {
	instruction []byte
	inResult    bool
}

// maxFields bounds the nesting of fields.
const maxFields = 64

func (w *wordText) write(text string) {
	for text != "" {
		n := strings.IndexFunc(text, func(c rune) bool { return c < ' ' })
		if n < 0 {
			n = len(text)
		}
		w.words(text[:n])
		if text = text[n:]; text != "" {
			c, size := utf8.DecodeRuneInString(text)
			w.mark(c)
			text = text[size:]
		}
	}
}

// words writes text outside of instructions.
func (w *wordText) words(text string) {
	if text == "" {
		return
	}
	if i := slices.IndexFunc(w.fields, func(f field) bool { return !f.inResult }); i < 0 {
		w.b.Write([]byte(text))
	} else if f := &w.fields[len(w.fields)-1]; len(f.instruction) < maxProperty {
		f.instruction = append(f.instruction, text...)
	}
}

// mark handles a character below the blank (MS-DOC section 2.4.1 and others).
func (w *wordText) mark(c rune) {
	last := len(w.fields) - 1
	switch c {
	case 0x13: // field begin
		if len(w.fields) < maxFields {
			w.fields = append(w.fields, field{})
		}
	case 0x14: // field result
		if last >= 0 && !w.fields[last].inResult {
			w.fields[last].inResult = true
			w.b.Link(hyperlink(string(w.fields[last].instruction)))
		}
	case 0x15: // field end
		if last >= 0 {
			w.fields = w.fields[:last]
		}
	case 0x1e:
		w.words("\u2011") // non-breaking hyphen
	case 0x1f, 0x01, 0x02, 0x05, 0x08: // optional hyphen; pictures, and note marks
	default: // ends of paragraphs, cells, lines and pages
		w.b.Break()
	}
}
