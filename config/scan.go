package config

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

const (
	// maxConditionDepth is how deep And, Or and Not may be nested.
	maxConditionDepth = 1000
	// maxElementDepth stops a file before its nesting costs anything; it leaves
	// room for the elements around the conditions.
	maxElementDepth = maxConditionDepth + 24
	// maxParts bounds the memory that a file can take: elements, attributes and
	// pieces of text together. Half a million rules fit.
	maxParts = 8_000_000
)

// mark is where an element's start tag lies, and which element follows the
// last one inside of it, counting start tags in document order.
type mark struct{ start, end, next int }

// layout holds the places that the tree forgets, by the number of the element in
// document order.
type layout struct {
	marks []mark
	texts map[int]int // element: offset of its first text that is not white space
}

// layoutScan walks a file once, before the tree is built. It finds all that is
// not well-formed, so that reading the tree afterwards cannot fail.
type layoutScan struct {
	src   *source
	dec   *xml.Decoder
	out   layout
	open  []openElement
	parts int
	most  int // of parts
}

type openElement struct {
	name   string // with prefix
	number int
}

// scanLayout finds the places of all elements, or the first fault.
func scanLayout(src *source) (layout, *fault) {
	s := &layoutScan{src: src, dec: xml.NewDecoder(bytes.NewReader(src.data)), most: maxParts}
	return s.run()
}

func (s *layoutScan) run() (layout, *fault) {
	s.dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	s.out.texts = make(map[int]int)
	begin := len(s.src.data) - len(bytes.TrimLeft(s.src.data, " \t\r\n"))
	if begin == len(s.src.data) {
		return layout{}, faultf(0, "the file is empty: a <CrawlConfig> is expected")
	}
	if s.src.data[begin] != '<' {
		return layout{}, faultf(begin, "this is not XML: a file begins with <CrawlConfig> or <?xml")
	}
	for {
		more, f := s.token()
		if f != nil {
			return layout{}, f
		}
		if !more {
			return s.out, nil
		}
	}
}

// token reads one token; more is false at the end of a well-formed file.
func (s *layoutScan) token() (more bool, f *fault) {
	start := int(s.dec.InputOffset())
	rest := s.src.data[start:]
	if bytes.HasPrefix(rest, []byte("<!")) && !bytes.HasPrefix(rest, []byte("<!--")) && !bytes.HasPrefix(rest, []byte("<![CDATA[")) {
		return false, faultf(start, "document types and entity declarations (<!DOCTYPE, <!ENTITY) are not allowed: remove this")
	}
	token, err := s.dec.RawToken()
	if errors.Is(err, io.EOF) && len(s.open) == 0 && len(s.out.marks) > 0 {
		return false, nil
	}
	if err != nil {
		return false, s.syntaxFault(err, start, int(s.dec.InputOffset()))
	}
	switch token := token.(type) {
	case xml.StartElement:
		f = s.startElement(token, start)
	case xml.EndElement:
		f = s.endElement(token, start)
	case xml.CharData:
		f = s.text(start)
	case xml.ProcInst:
		if token.Target == "xml" && start > 0 {
			f = faultf(start, "<?xml ...?> must be the very first thing in the file")
		}
	}
	return f == nil, f
}

func (s *layoutScan) startElement(e xml.StartElement, start int) *fault {
	number := len(s.out.marks)
	if number > 0 && len(s.open) == 0 {
		return faultf(start, "<%s> is a second outermost element: a file has one <CrawlConfig>", clip(rawName(e.Name)))
	}
	if len(s.open) == maxElementDepth {
		return faultf(start, "elements are nested more than %d deep: conditions can be nested to depth %d", maxElementDepth, maxConditionDepth)
	}
	s.parts += 1 + len(e.Attr)
	if s.parts > s.most {
		return faultf(start, "the file has more than %d elements and attributes: split it", s.most)
	}
	s.out.marks = append(s.out.marks, mark{start: start, end: int(s.dec.InputOffset())})
	s.open = append(s.open, openElement{rawName(e.Name), number})
	return nil
}

func (s *layoutScan) endElement(e xml.EndElement, start int) *fault {
	name := rawName(e.Name)
	if len(s.open) == 0 {
		return faultf(start, "</%s> closes nothing: no element is open here", clip(name))
	}
	top := s.open[len(s.open)-1]
	if top.name != name {
		at := s.src.position(s.out.marks[top.number].start)
		return faultf(start, "</%s> where </%s> is expected: <%[2]s>, opened at line %[3]d, column %[4]d, is not closed",
			clip(name), clip(top.name), at.Line, at.Column)
	}
	s.open = s.open[:len(s.open)-1]
	s.out.marks[top.number].next = len(s.out.marks)
	return nil
}

func (s *layoutScan) text(start int) *fault {
	raw := s.src.data[start:s.dec.InputOffset()]
	blank := len(raw) - len(bytes.TrimLeft(raw, " \t\r\n"))
	if blank == len(raw) {
		return nil
	}
	if len(s.open) == 0 {
		return faultf(start+blank, "text outside of <CrawlConfig>: remove it")
	}
	number := s.open[len(s.open)-1].number
	if _, known := s.out.texts[number]; !known {
		s.parts++
		s.out.texts[number] = start + blank
	}
	return nil
}

// syntaxFault says in words for the operator what encoding/xml found in the
// token that begins at start, having read up to offset.
func (s *layoutScan) syntaxFault(err error, start, offset int) *fault {
	if errors.Is(err, io.EOF) {
		return s.endFault()
	}
	var syntax *xml.SyntaxError
	if !errors.As(err, &syntax) {
		return faultf(start, "%s: write version=\"1.0\"", strings.TrimPrefix(err.Error(), "xml: "))
	}
	read := s.src.data[start:offset]
	switch message := syntax.Msg; {
	case message == "unexpected EOF" || strings.HasPrefix(message, "unexpected EOF in"):
		return faultf(start, "the file ends inside the %s that begins here", kindOfToken(read))
	case strings.HasPrefix(message, "invalid character entity"):
		amp := bytes.LastIndexByte(read, '&')
		return faultf(start+amp, "%s is not known to XML: write &amp; for the character &", quote(string(read[amp:])))
	case strings.HasPrefix(message, "unescaped < inside"):
		return faultf(offset-1, "< inside of an attribute's value: write &lt;, or close the quote before it")
	case strings.HasPrefix(message, "unescaped ]]>"):
		return faultf(offset-3, "]]> outside of a CDATA section: write ]]&gt;")
	case strings.HasPrefix(message, "expected attribute name"):
		return faultf(offset, "an attribute's name, > or /> is expected here")
	case strings.HasPrefix(message, "attribute name without ="):
		return faultf(offset-1, "= and a value in quotes are expected here, after the attribute's name")
	case strings.HasPrefix(message, "unquoted or missing"):
		return faultf(offset-1, "an attribute's value must stand in quotes")
	case strings.HasPrefix(message, "expected element name after <"):
		return faultf(start, "< does not begin a tag here: write &lt;")
	default:
		return faultf(offset-1, "not well-formed XML: %s", clip(message))
	}
}

// endFault is for a file that ends too early.
func (s *layoutScan) endFault() *fault {
	end := s.src.lastText()
	if len(s.open) == 0 {
		return faultf(end, "the file holds no element: a <CrawlConfig> is expected")
	}
	top := s.open[len(s.open)-1]
	at := s.src.position(s.out.marks[top.number].start)
	return faultf(end, "the file ends here, but <%s>, opened at line %d, column %d, is not closed", clip(top.name), at.Line, at.Column)
}

func kindOfToken(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("<!-")):
		return "comment"
	case bytes.HasPrefix(text, []byte("<![")):
		return "CDATA section"
	case bytes.HasPrefix(text, []byte("<?")):
		return "processing instruction"
	default:
		return "tag"
	}
}

func rawName(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}
