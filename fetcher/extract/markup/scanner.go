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

	begin      int // of the token
	start, end int // of its data: text, name of a tag, content of a comment
	tag        Tag
	// selfClosing says that a tag ends in "/>".
	selfClosing bool
	literal     bool // a text in which & is nothing but itself
	content     Tag  // the element that the present text is the content of, if that is not markup

	has    uint32 // the attributes of a start tag, a set of 1<<Name
	values [names]span

	raw   Tag // the element whose content comes next and is not markup, 0 if none
	cdata bool
	// classes says that class and id are read of all elements.
	classes bool
}

// NewScanner begins a page, in UTF-8 or what comes near to it.
func NewScanner(page []byte) Scanner { return Scanner{page: page} }

// ReadClasses makes class and id known of all elements.
func (s *Scanner) ReadClasses() { s.classes = true }

// AllowCDATA reports whether the next tokens stand in foreign content (SVG, MathML),
// where CDATA sections are text and not comments.
func (s *Scanner) AllowCDATA(allow bool) { s.cdata = allow }

// NotRaw makes markup of the content of the element whose start tag is the present
// token, where that would not be: of noscript, where scripts do not run, and of
// all in foreign content.
func (s *Scanner) NotRaw() { s.raw = 0 }

// Tag returns the element of a start or end tag, Other if it has no name here.
func (s *Scanner) Tag() Tag { return s.tag }

// SelfClosing reports whether the present tag ends in "/>", which means something in
// foreign content only.
func (s *Scanner) SelfClosing() bool { return s.selfClosing }

// Token returns where the present token begins and ends in the page.
func (s *Scanner) Token() (from, to int) { return s.begin, s.pos }

// Span returns where the text, the name of the tag, or the content of the comment stands.
func (s *Scanner) Span() (from, to int) { return s.start, s.end }

// Data returns what stands there, as written.
func (s *Scanner) Data() []byte { return s.page[s.start:s.end] }

// Literal reports whether in the present text & is nothing but itself.
func (s *Scanner) Literal() bool { return s.literal }

// Content returns the element that the present text is the whole content of because that
// is not markup; Other if it is not.
func (s *Scanner) Content() Tag { return s.content }

// Next goes on to the next token.
func (s *Scanner) Next() Kind {
	s.begin = s.pos
	if s.raw != 0 {
		if s.rawText(); s.end > s.start {
			return Text
		}
	}
	s.literal, s.content = false, Other
	s.start = s.pos
	page, at := s.page, s.pos
	for ; ; at++ {
		if at+1 < len(page) && page[at] == '<' {
			// Most often, as the present text ended here or there was none.
		} else if at = index(page, at, '<'); at < 0 || at+1 == len(page) {
			return s.text(len(page))
		}
		c := page[at+1]
		switch {
		case isLetter(c):
			if at > s.start {
				return s.text(at)
			}
			if !s.readTag(at + 1) {
				return s.noMore()
			}
			if s.tag.Is(Raw) {
				s.raw = s.tag
			}
			return StartTag
		case c == '/', c == '!', c == '?':
			if at > s.start {
				return s.text(at)
			}
			if c == '/' && at+2 < len(page) && isLetter(page[at+2]) {
				if !s.readTag(at + 2) {
					return s.noMore()
				}
				return EndTag
			}
			return s.markup(c)
		}
	}
}

// text ends a text before a position; none if there is nothing in it.
func (s *Scanner) text(end int) Kind {
	s.end, s.pos = end, end
	if s.start == end {
		return End
	}
	return Text
}

// markup reads what begins with < and c, and is not a tag.
func (s *Scanner) markup(c byte) Kind {
	at := s.pos
	switch {
	case c == '!':
		return s.declaration(at + 2)
	case c == '?':
		return s.bogus(at + 1)
	case at+2 == len(s.page):
		return s.text(len(s.page))
	case s.page[at+2] == '>': // "</>" is nothing
		s.start, s.end, s.pos = at+2, at+2, at+3
		return Comment
	default:
		return s.bogus(at + 2)
	}
}

// noMore returns the end of a page in the middle of a tag.
func (s *Scanner) noMore() Kind {
	s.start, s.end, s.pos = len(s.page), len(s.page), len(s.page)
	return End
}

// readTag reads a tag from its name on; false if the page ends in it.
func (s *Scanner) readTag(at int) bool {
	page := s.page
	key, end := readName(page, at, at, 0, &tagLetters)
	s.start, s.end, s.has = at, end, 0
	s.tag = Tag(tagTable.findIn(tagNames[:], page, span{at, end}, key))
	if end < len(page) && page[end] == '>' {
		s.pos, s.selfClosing = end+1, false
		return true
	}
	return s.readAttributes(end)
}

// bogus returns a comment up to the next >.
func (s *Scanner) bogus(at int) Kind {
	s.start = at
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
		return Doctype
	case s.cdata && bytes.HasPrefix(rest, []byte("[CDATA[")):
		return s.section(at + len("[CDATA["))
	default:
		return s.bogus(at)
	}
}

// comment reads up to "-->", "--!>", or, at its very beginning, ">" or "->".
func (s *Scanner) comment(at int) Kind {
	s.start = at
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

// section returns the text of a CDATA section. An empty one is not a token.
func (s *Scanner) section(at int) Kind {
	s.start, s.literal = at, true
	if i := bytes.Index(s.page[at:], []byte("]]>")); i >= 0 {
		s.end, s.pos = at+i, at+i+3
	} else {
		s.end, s.pos = len(s.page), len(s.page)
	}
	return Text
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Classes of bytes.
const (
	isSpace           = 1 << iota
	endsName          // of a tag: space, / and >
	endsValue         // not quoted: space and >
	betweenAttributes // space and /
	isAlphanumeric
)

// class is constant.
var class = func() (t [256]uint8) {
	for _, c := range []byte(" \n\r\t\f") {
		t[c] = isSpace | endsName | endsValue | betweenAttributes
	}
	t['/'] = endsName | betweenAttributes
	t['>'] = endsName | endsValue
	for c := '0'; c <= '9'; c++ {
		t[c] = isAlphanumeric
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-0x20] = isAlphanumeric, isAlphanumeric
	}
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
