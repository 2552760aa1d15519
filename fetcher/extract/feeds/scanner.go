package feeds

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	endOfFile tokenKind = iota
	startTag
	endTag
	characters
)

// token is a piece of XML. Comments, declarations and processing instructions are skipped.
type token struct {
	kind   tokenKind
	name   string // with its prefix
	attrs  []attribute
	closed bool // <a/>
	text   string
	line   int // of its beginning
	column int
}

type attribute struct{ name, value string }

// attr returns the value of an attribute, "" if there is none.
func (t *token) attr(name string) string {
	for i := range t.attrs {
		if strings.EqualFold(t.attrs[i].name, name) {
			return t.attrs[i].value
		}
	}
	return ""
}

// scanner tokenizes XML. It never looks back, and holds one token.
type scanner struct {
	r            *bufio.Reader
	line, column int // of the next character
	// most bounds the bytes of a text that are kept; the rest is dropped.
	most int
	buf  []byte
	err  error // of the reader, other than io.EOF
	// names interns the names of tags and attributes, up to maxNames.
	names map[string]string
}

func newScanner(r *bufio.Reader) *scanner {
	return &scanner{r: r, line: 1, column: 1, names: map[string]string{}}
}

// read returns the next byte and counts lines and characters.
func (s *scanner) read() (byte, bool) {
	b, err := s.r.ReadByte()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
		return 0, false
	}
	switch {
	case b == '\n':
		s.line, s.column = s.line+1, 1
	case utf8.RuneStart(b):
		s.column++
	}
	return b, true
}

// buffered returns the buffered bytes, at least one unless the file has ended.
func (s *scanner) buffered() []byte {
	if s.r.Buffered() == 0 && s.peek() == 0 && s.r.Buffered() == 0 {
		return nil
	}
	b, _ := s.r.Peek(s.r.Buffered())
	return b
}

// pass consumes buffered bytes.
func (s *scanner) pass(b []byte) {
	if n := bytes.Count(b, []byte{'\n'}); n > 0 {
		s.line += n
		s.column = 1 + utf8.RuneCount(b[bytes.LastIndexByte(b, '\n')+1:])
	} else {
		for _, c := range b {
			if utf8.RuneStart(c) {
				s.column++
			}
		}
	}
	_, _ = s.r.Discard(len(b)) // they are buffered
}

// follows reports whether the next bytes are text, in any case, and consumes them if so.
func (s *scanner) follows(text string) bool {
	b, _ := s.r.Peek(len(text))
	if !strings.EqualFold(string(b), text) {
		return false
	}
	for range len(text) {
		s.read()
	}
	return true
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	b, err := s.r.Peek(1)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
		return 0
	}
	return b[0]
}

func (s *scanner) fault(line, column int, format string, args ...any) error {
	return &SyntaxError{Line: line, Column: column, Words: fmt.Sprintf(format, args...)}
}

// ends returns the error for an unexpected end of the file.
func (s *scanner) ends(in string) error {
	if s.err != nil {
		return s.fault(s.line, s.column, "reading stopped in the file: %v", s.err)
	}
	return s.fault(s.line, s.column, "the file ends inside %s", in)
}

// next returns the next token.
func (s *scanner) next() (token, error) {
	for {
		line, column := s.line, s.column
		b := s.peek()
		if b == 0 {
			if _, ok := s.read(); ok {
				continue // XML has no NUL byte
			}
			if s.err != nil {
				return token{}, s.ends("")
			}
			return token{kind: endOfFile, line: line, column: column}, nil
		}
		if b != '<' {
			return token{kind: characters, text: s.characters(), line: line, column: column}, nil
		}
		next, _ := s.r.Peek(2)
		switch {
		case len(next) == 2 && isNameStart(next[1]):
			s.read()
			return s.tag(token{kind: startTag, line: line, column: column})
		case s.follows("</"):
			return s.tag(token{kind: endTag, line: line, column: column})
		case s.follows("<!--"):
			if err := s.until("-->", "a comment", 0); err != nil {
				return token{}, err
			}
		case s.follows("<![CDATA["):
			err := s.until("]]>", "a CDATA section", s.most)
			return token{kind: characters, text: s.kept(), line: line, column: column}, err
		case s.follows("<!"):
			if err := s.declaration(line, column); err != nil {
				return token{}, err
			}
		case s.follows("<?"):
			if err := s.until("?>", "a processing instruction", 0); err != nil {
				return token{}, err
			}
		case len(next) == 2:
			return token{kind: characters, text: s.characters(), line: line, column: column}, nil
		default:
			s.read()
			return s.tag(token{kind: startTag, line: line, column: column})
		}
	}
}

func isNameStart(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_' || b == ':' || b >= utf8.RuneSelf
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\f' }

func (s *scanner) kept() string { return strings.ToValidUTF8(string(s.buf), "\uFFFD") }

// until reads up to and including an end mark, and keeps up to most bytes before it.
func (s *scanner) until(mark, what string, most int) error {
	s.buf = s.buf[:0]
	last := mark[len(mark)-1]
	tail := make([]byte, 0, 4) // the last bytes, as many as the mark is long
	for {
		b, ok := s.read()
		if !ok {
			return s.ends(what)
		}
		if len(tail) == len(mark) {
			copy(tail, tail[1:])
			tail[len(tail)-1] = b
		} else {
			tail = append(tail, b)
		}
		if len(s.buf) < most+len(mark) {
			s.buf = append(s.buf, b)
		}
		if b == last && string(tail) == mark {
			break
		}
	}
	s.buf = bytes.TrimSuffix(s.buf, []byte(mark))
	s.buf = s.buf[:min(len(s.buf), most)]
	return nil
}

// declaration skips a DOCTYPE after its "<!".
func (s *scanner) declaration(line, column int) error {
	var quote byte
	for {
		b, ok := s.read()
		switch {
		case !ok:
			return s.ends("a declaration")
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '[':
			return s.fault(line, column, "a DOCTYPE with internal declarations is not supported: entities could expand a small file to a huge one")
		case b == '>':
			return nil
		}
	}
}
