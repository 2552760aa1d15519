// Package markup goes over the tokens of an HTML page: one pass over the bytes, no
// tree, no copy and no allocation per token. It is the tokenization of WHATWG HTML
// section 13.2.5 as golang.org/x/net/html understands it, which the tests hold it to.
package markup

import "bytes"

// Kind is the kind of a token.
type Kind uint8

// The kinds. End is what follows the last token. A tag that the page ends in the
// middle of is none.
const (
	End Kind = iota
	Text
	StartTag
	EndTag
	Comment // also of declarations and processing instructions
	Doctype
)

// Scanner goes over a page. What its methods return is part of the page, which it
// never changes. It is not safe for concurrent use; its zero value is at the end of
// an empty page.
type Scanner struct {
	page []byte
	pos  int // behind the present token

	kind       Kind
	start, end int // of the token's data: text, name of a tag, content of a comment
	tag        Tag
	attributes int  // where those of a start tag begin
	literal    bool // a text in which & is nothing but itself

	raw   Tag // the element whose content comes next and is no markup, 0 if none
	cdata bool
}

// NewScanner begins a page, in UTF-8 or what comes near to it.
func NewScanner(page []byte) Scanner { return Scanner{page: page} }

// AllowCDATA says whether the next tokens stand in foreign content (SVG, MathML),
// where CDATA sections are text and not comments.
func (s *Scanner) AllowCDATA(allow bool) { s.cdata = allow }

// NotRaw makes markup of the content of the element whose start tag is the present
// token, where that would not be: noscript, for who does not run scripts.
func (s *Scanner) NotRaw() { s.raw = 0 }

// Tag is the element of a start or end tag, Other if it has no name here.
func (s *Scanner) Tag() Tag { return s.tag }

// Data is the text, the name of the tag, or the content of the comment, as written.
func (s *Scanner) Data() []byte { return s.page[s.start:s.end] }

// Literal says that in the present text & is nothing but itself.
func (s *Scanner) Literal() bool { return s.literal }

// Next goes on to the next token.
func (s *Scanner) Next() Kind {
	if s.raw != 0 {
		if s.rawText(); s.end > s.start {
			s.kind = Text
			return Text
		}
	}
	s.literal = false
	s.start = s.pos
	for at := s.pos; ; {
		i := bytes.IndexByte(s.page[at:], '<')
		if i < 0 || at+i+1 == len(s.page) {
			return s.text(len(s.page))
		}
		at += i
		c := s.page[at+1]
		if !isLetter(c) && c != '/' && c != '!' && c != '?' {
			at++
			continue
		}
		if at > s.start {
			return s.text(at)
		}
		return s.markup(c)
	}
}

// text ends a text before a position; none if there is nothing in it.
func (s *Scanner) text(end int) Kind {
	s.end, s.pos = end, end
	s.kind = Text
	if s.start == end {
		s.kind = End
	}
	return s.kind
}

// markup reads what begins with < and c.
func (s *Scanner) markup(c byte) Kind {
	at := s.pos
	switch {
	case isLetter(c):
		return s.startTag(at + 1)
	case c == '!':
		return s.declaration(at + 2)
	case c == '?':
		return s.bogus(at + 1)
	case at+2 == len(s.page):
		return s.text(len(s.page))
	case s.page[at+2] == '>': // "</>" is nothing
		s.start, s.end, s.pos = at+2, at+2, at+3
		s.kind = Comment
		return Comment
	case isLetter(s.page[at+2]):
		return s.endTag(at + 2)
	default:
		return s.bogus(at + 2)
	}
}

func (s *Scanner) startTag(at int) Kind {
	s.tag, s.start, s.end = s.readName(at)
	s.attributes = s.end
	if !s.skipAttributes() {
		return s.noMore()
	}
	if s.tag.is(isRaw) {
		s.raw = s.tag
	}
	s.kind = StartTag
	return StartTag
}

func (s *Scanner) endTag(at int) Kind {
	s.tag, s.start, s.end = s.readName(at)
	s.attributes = s.end
	if !s.skipAttributes() {
		return s.noMore()
	}
	s.kind = EndTag
	return EndTag
}

// noMore is the end of a page in the middle of a tag.
func (s *Scanner) noMore() Kind {
	s.start, s.end, s.pos = len(s.page), len(s.page), len(s.page)
	s.kind = End
	return End
}

// readName reads a tag's name.
func (s *Scanner) readName(at int) (t Tag, start, end int) {
	end = at
	for end < len(s.page) && class[s.page[end]]&endsName == 0 {
		end++
	}
	return lookup(s.page[at:end]), at, end
}

// bogus is a comment up to the next >.
func (s *Scanner) bogus(at int) Kind {
	s.start, s.kind = at, Comment
	if i := bytes.IndexByte(s.page[at:], '>'); i >= 0 {
		s.end, s.pos = at+i, at+i+1
	} else {
		s.end, s.pos = len(s.page), len(s.page)
	}
	return Comment
}

// declaration reads what follows "<!".
func (s *Scanner) declaration(at int) Kind {
	rest := s.page[at:]
	switch {
	case len(rest) < 2:
		s.bogus(at)
		s.pos = len(s.page)
		return Comment
	case rest[0] == '-' && rest[1] == '-':
		return s.comment(at + 2)
	case hasPrefixFold(rest, "doctype"):
		s.bogus(at + len("doctype"))
		s.kind = Doctype
		return Doctype
	case s.cdata && bytes.HasPrefix(rest, []byte("[CDATA[")):
		return s.section(at + len("[CDATA["))
	default:
		return s.bogus(at)
	}
}

// comment reads up to "-->", "--!>", or, at its very beginning, ">" or "->".
func (s *Scanner) comment(at int) Kind {
	s.start, s.kind = at, Comment
	for from := at; ; {
		i := bytes.IndexByte(s.page[from:], '>')
		if i < 0 {
			s.abruptComment(at)
			return Comment
		}
		i += from
		from = i + 1
		body := s.page[at:i]
		switch {
		case bytes.HasSuffix(body, []byte("--")):
			s.end = i - 2
		case bytes.HasSuffix(body, []byte("--!")):
			s.end = i - 3
		case len(body) == 0, len(body) == 1 && body[0] == '-':
			s.end = at
		default:
			continue
		}
		s.pos = i + 1
		return Comment
	}
}

// abruptComment is one that the page ends in: without the beginning of its end.
func (s *Scanner) abruptComment(at int) {
	body := s.page[at:]
	for _, end := range [...]string{"--!", "--", "-"} {
		if bytes.HasSuffix(body, []byte(end)) {
			body = body[:len(body)-len(end)]
			break
		}
	}
	s.end, s.pos = at+len(body), len(s.page)
}

// section is the text of a CDATA section. An empty one is no token.
func (s *Scanner) section(at int) Kind {
	s.start, s.literal, s.kind = at, true, Text
	if i := bytes.Index(s.page[at:], []byte("]]>")); i >= 0 {
		s.end, s.pos = at+i, at+i+3
	} else {
		s.end, s.pos = len(s.page), len(s.page)
	}
	return Text
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Classes of bytes inside of tags.
const (
	isSpace  = 1 << iota
	endsName // space, / and >
	endsKey  // the same and =
)

// class is constant.
var class = func() (t [256]uint8) {
	for _, c := range []byte(" \n\r\t\f") {
		t[c] = isSpace | endsName | endsKey
	}
	t['/'], t['>'] = endsName|endsKey, endsName|endsKey
	t['='] = endsKey
	return t
}()

// hasPrefixFold compares with lower-case letters.
func hasPrefixFold(b []byte, lower string) bool {
	if len(b) < len(lower) {
		return false
	}
	for i := range len(lower) {
		if c := b[i]; c != lower[i] && (c|0x20 != lower[i] || !isLetter(c)) {
			return false
		}
	}
	return true
}
