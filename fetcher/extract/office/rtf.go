package office

import (
	"bytes"
	"context"
	"errors"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

const (
	// maxGroups bounds the nesting of groups.
	maxGroups = 10_000
	// maxFonts bounds the font table.
	maxFonts = 10_000
)

// destination is the destination of a group's text.
type destination uint8

const (
	toText destination = iota
	toNowhere
	toInstruction // of a field
	toFonts
	toInfo     // text of the information group, outside of its parts
	toProperty // a part of the information group, named by group.property
	toShape    // of a drawing: only its text box has text
)

// group is the state that a closing brace restores.
type group struct {
	to       destination
	property string
	hidden   bool
	box      bool // in a text box or an annotation: these separate words
	skip     int  // fallback characters after \u
	font     int
	stamp    *stamp // of \creatim and \revtim
}

// rtfReader reads a file once. Control words are those of RTF 1.9.1.
type rtfReader struct {
	ctx   context.Context
	in    []byte
	at    int
	b     *extract.Builder
	group group
	outer []group

	opened    bool // a group has just begun
	ignorable bool // \* came at the start of a group: an unknown destination is left out
	skipping  int  // fallback characters still to skip
	high      rune // first half of a surrogate pair
	page      encoding.Encoding
	fonts     map[int]encoding.Encoding
	bytes     []byte // not decoded yet, since a character may have two
	info      map[string][]byte
	created   stamp
	modified  stamp
}

func readRTF(ctx context.Context, body []byte, b *extract.Builder) error {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte(`{\rtf`)) {
		return errors.New(`it does not begin with {\rtf`)
	}
	r := &rtfReader{
		ctx: ctx, in: body, b: b, group: group{skip: 1}, page: codePage(1252),
		fonts: map[int]encoding.Encoding{}, info: map[string][]byte{},
	}
	err := r.read()
	r.flush()
	for _, name := range []string{"title", "author", "subject", "keywords", "description", "pages"} {
		value := string(r.info[name])
		if name == "title" {
			b.Title(value)
			continue
		}
		b.Meta(name, value)
	}
	b.Time("created", r.created.time())
	b.Time("modified", r.modified.time())
	return err
}

func (r *rtfReader) read() error {
	for n := 1; r.at < len(r.in); n++ {
		if n%tokensPerLook == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		c := r.in[r.at]
		r.at++
		switch c {
		case '{':
			r.flush()
			if len(r.outer) >= maxGroups {
				return errors.New("its groups are nested too deeply")
			}
			r.outer = append(r.outer, r.group)
			r.skipping, r.opened = 0, true
		case '}':
			r.close()
			if len(r.outer) == 0 { // the rest does not belong to the document
				return nil
			}
		case '\\':
			r.control()
		case '\r', '\n':
		default:
			r.opened = r.opened && c == ' '
			r.byte(c)
		}
	}
	if len(r.outer) > 0 {
		return errors.New("it has no end")
	}
	return nil
}

// close ends a group.
func (r *rtfReader) close() {
	r.flush()
	r.skipping, r.ignorable, r.opened = 0, false, false
	if len(r.outer) == 0 {
		return
	}
	ended := r.group
	r.group = r.outer[len(r.outer)-1]
	r.outer = r.outer[:len(r.outer)-1]
	if ended.box && !r.group.box {
		r.b.Break()
	}
	if ended.to == toInstruction && r.group.to != toInstruction {
		if href := hyperlink(string(r.info["instruction"])); href != "" {
			r.b.Link(href)
		}
		delete(r.info, "instruction")
	}
}

// control reads what follows a backslash.
func (r *rtfReader) control() {
	if r.at >= len(r.in) {
		return
	}
	c, opened := r.in[r.at], r.opened
	r.opened = false
	if c == '*' { // it has no meaning except at the start of a group
		r.at++
		r.ignorable = opened
		return
	}
	if !isLetter(c) {
		r.at++
		r.symbol(c)
		return
	}
	start := r.at
	for r.at < len(r.in) && isLetter(r.in[r.at]) && r.at-start < 32 {
		r.at++
	}
	word := string(r.in[start:r.at])
	n, has := r.parameter()
	if r.at < len(r.in) && r.in[r.at] == ' ' {
		r.at++
	}
	r.word(word, n, has)
}

// parameter reads the number after a control word.
func (r *rtfReader) parameter() (n int, has bool) {
	negative := r.at+1 < len(r.in) && r.in[r.at] == '-' && isDigit(r.in[r.at+1])
	if negative {
		r.at++
	}
	for r.at < len(r.in) && isDigit(r.in[r.at]) {
		if has = true; n < 1<<32 {
			n = n*10 + int(r.in[r.at]-'0')
		}
		r.at++
	}
	if negative {
		n = -n
	}
	return n, has
}

// symbol handles a control symbol: a backslash and a character that is not a letter.
func (r *rtfReader) symbol(c byte) {
	switch c {
	case '\'':
		if r.at+1 < len(r.in) {
			high, ok1 := hexDigit(r.in[r.at])
			low, ok2 := hexDigit(r.in[r.at+1])
			if ok1 && ok2 {
				r.at += 2
				r.byte(high<<4 | low)
			}
		}
	case '\\', '{', '}':
		r.byte(c)
	case '~':
		r.rune('\u00a0')
	case '_':
		r.rune('\u2011')
	case '\r', '\n', '\t':
		r.separate()
	}
}

// byte handles a byte of a character in the font's code page.
func (r *rtfReader) byte(c byte) {
	if r.skipping > 0 {
		r.skipping--
		return
	}
	switch r.group.to {
	case toNowhere, toInfo, toFonts, toShape:
		return
	case toText, toInstruction, toProperty:
	}
	r.high = 0
	r.bytes = append(r.bytes, c)
	if len(r.bytes) >= 4096 && c < utf8.RuneSelf {
		r.flush()
	}
}

// rune handles a character with a known code.
func (r *rtfReader) rune(c rune) {
	r.flush()
	r.write(utf8.AppendRune(nil, c))
}

// unicode handles \u: in the standard n is signed 16 bit, but some writers count from 0. Characters beyond 16 bit come
// as two of them.
func (r *rtfReader) unicode(n int) {
	c := rune(uint16(n))
	r.skipping = r.group.skip
	switch high := r.high; {
	case utf16.IsSurrogate(c) && c < 0xdc00:
		r.high = c
	case utf16.IsSurrogate(c):
		r.high = 0
		r.rune(utf16.DecodeRune(high, c))
	default:
		r.high = 0
		r.rune(c)
	}
}

// flush decodes the collected bytes.
func (r *rtfReader) flush() {
	if len(r.bytes) == 0 {
		return
	}
	page := r.page
	if own := r.fonts[r.group.font]; own != nil {
		page = own
	}
	text, err := page.NewDecoder().Bytes(r.bytes)
	if err != nil {
		text = bytes.ToValidUTF8(r.bytes, []byte("\ufffd"))
	}
	r.bytes = r.bytes[:0]
	r.write(text)
}

func (r *rtfReader) write(text []byte) {
	switch r.group.to {
	case toText:
		if !r.group.hidden {
			r.b.Write(text)
		}
	case toInstruction:
		r.keep("instruction", text)
	case toProperty:
		r.keep(r.group.property, text)
	case toNowhere, toFonts, toInfo, toShape:
	}
}

func (r *rtfReader) keep(name string, text []byte) {
	if len(r.info[name]) < maxProperty {
		r.info[name] = append(r.info[name], text...)
	}
}

func (r *rtfReader) separate() {
	r.flush()
	if r.group.to == toText {
		r.b.Break()
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
