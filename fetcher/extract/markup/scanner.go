// Package markup tokenizes an HTML page: one pass over the bytes, no tree, no copy and no allocation per token. It
// implements the tokenization of WHATWG HTML section 13.2.5 as golang.org/x/net/html does, which its tests verify.
package markup

import "bytes"

// Kind is the kind of a token.
type Kind uint8

// The kinds. End follows the last token. A tag that is cut off by the end of the page is not a token.
const (
	End Kind = iota
	Text
	StartTag
	EndTag
	Comment // also of declarations and processing instructions
	Doctype
)

// Scanner tokenizes a page. Its methods return parts of the page, which it never changes. It is not safe for concurrent
// use; its zero value is at the end of an empty page.
type Scanner struct {
	page []byte
	pos  int // after the present token

	begin      int // of the token
	start, end int // of its data: text, name of a tag, content of a comment
	tag        Tag
	// selfClosing is set if a tag ends in "/>".
	selfClosing bool
	literal     bool // a text in which & is an ordinary character
	content     Tag  // the element whose non-markup content the present text is

	has    uint32 // the attributes of a start tag, a set of 1<<Name
	values [names]span

	raw   Tag // the element whose non-markup content follows, 0 if none
	cdata bool
	// classes is set if class and id are read for all elements.
	classes bool
}

// NewScanner returns a Scanner of a page in (possibly invalid) UTF-8.
func NewScanner(page []byte) Scanner { return Scanner{page: page} }

// ReadClasses makes class and id available for all elements.
func (s *Scanner) ReadClasses() { s.classes = true }

// AllowCDATA sets whether the next tokens are in foreign content (SVG, MathML), where CDATA sections are text and not
// comments.
func (s *Scanner) AllowCDATA(allow bool) { s.cdata = allow }

// NotRaw makes the content of the present start tag's element markup, where it otherwise would not be: for noscript,
// where scripts do not run, and in foreign content.
func (s *Scanner) NotRaw() { s.raw = 0 }

// Tag returns the element of a start or end tag, Other if it is not in the list.
func (s *Scanner) Tag() Tag { return s.tag }

// SelfClosing reports whether the present tag ends in "/>", which matters only in foreign content.
func (s *Scanner) SelfClosing() bool { return s.selfClosing }

// Token returns the position of the present token in the page.
func (s *Scanner) Token() (from, to int) { return s.begin, s.pos }

// Span returns the position of the text, the tag's name, or the comment's content.
func (s *Scanner) Span() (from, to int) { return s.start, s.end }

// Data returns the bytes of Span, as written.
func (s *Scanner) Data() []byte { return s.page[s.start:s.end] }

// Literal reports whether & is an ordinary character in the present text.
func (s *Scanner) Literal() bool { return s.literal }

// Content returns the element whose whole non-markup content is the current text, or Other.
func (s *Scanner) Content() Tag { return s.content }

// Next reads the next token.
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
			// The usual case: the present text ended here or there was none.
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

// text ends a text at a position; it is not a token if empty.
func (s *Scanner) text(end int) Kind {
	s.end, s.pos = end, end
	if s.start == end {
		return End
	}
	return Text
}

// markup reads a construct that begins with < and c, and is not a tag.
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

// noMore handles the end of a page within a tag.
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

// bogus reads a comment up to the next >.
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

// comment reads up to "-->", "--!>" or, right at the beginning, ">" or "->".
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

// abruptComment handles a comment that the page's end cuts off: it excludes a partial end mark.
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

// section reads the text of a CDATA section. An empty one is not a token.
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

// hasPrefixFold compares with a prefix in lower case.
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
