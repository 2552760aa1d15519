package config

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
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

// element is one of a file, with the places that messages name.
type element struct {
	name       xml.Name   // its Space is the prefix as it is written
	attrs      []xml.Attr // likewise, in the order of the file, twice if they are written twice
	start, end int        // of its start tag
	children   []*element
	text       []byte // directly inside of it
	textAt     int    // where the first text begins that is not white space; 0 if there is none
	last       int    // behind its end tag
	allowed    []allowComment
}

// allowComment is a comment before an element that silences what is said of it.
type allowComment struct {
	at   int
	text string
}

// scan reads a file into elements, or finds the first place where it is not well-formed.
type scan struct {
	src   *source
	dec   *xml.Decoder
	root  *element
	open  []*element
	parts int
	most  int // of parts
	// allowed are the comments before the next element.
	allowed []allowComment
}

// readXML gives the outermost element of a file, or the first fault.
func readXML(src *source) (*element, *fault) {
	s := &scan{src: src, dec: xml.NewDecoder(bytes.NewReader(src.data)), most: maxParts}
	return s.run()
}

func (s *scan) run() (*element, *fault) {
	s.dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	begin := len(s.src.data) - len(bytes.TrimLeft(s.src.data, " \t\r\n"))
	if begin == len(s.src.data) {
		return nil, faultf(0, "the file is empty: a <CrawlConfig> is expected")
	}
	if s.src.data[begin] != '<' {
		return nil, faultf(begin, "this is not XML: a file begins with <CrawlConfig> or <?xml")
	}
	for {
		more, f := s.token()
		if f != nil {
			return nil, f
		}
		if !more {
			return s.root, nil
		}
	}
}

// token reads one token; more is false at the end of a well-formed file.
func (s *scan) token() (more bool, f *fault) {
	start := int(s.dec.InputOffset())
	rest := s.src.data[start:]
	if bytes.HasPrefix(rest, []byte("<!")) && !bytes.HasPrefix(rest, []byte("<!--")) && !bytes.HasPrefix(rest, []byte("<![CDATA[")) {
		return false, faultf(start, "document types and entity declarations (<!DOCTYPE, <!ENTITY) are not allowed: remove this")
	}
	token, err := s.dec.RawToken()
	if errors.Is(err, io.EOF) && len(s.open) == 0 && s.root != nil {
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
		f = s.text(token, start)
	case xml.Comment:
		if text, ok := allowText(string(token)); ok {
			s.allowed = append(s.allowed, allowComment{start, text})
		}
	case xml.ProcInst:
		if token.Target == "xml" && start > 0 {
			f = faultf(start, "<?xml ...?> must be the very first thing in the file")
		}
	}
	return f == nil, f
}

func (s *scan) startElement(e xml.StartElement, start int) *fault {
	if s.root != nil && len(s.open) == 0 {
		return faultf(start, "<%s> is a second outermost element: a file has one <CrawlConfig>", clip(rawName(e.Name)))
	}
	if len(s.open) == maxElementDepth {
		return faultf(start, "elements are nested more than %d deep: conditions can be nested to depth %d", maxElementDepth, maxConditionDepth)
	}
	s.parts += 1 + len(e.Attr)
	if s.parts > s.most {
		return faultf(start, "the file has more than %d elements and attributes: split it", s.most)
	}
	made := &element{name: e.Name, attrs: e.Attr, start: start, end: int(s.dec.InputOffset()), allowed: s.allowed}
	s.allowed = nil
	if s.root == nil {
		s.root = made
	} else {
		inside := s.open[len(s.open)-1]
		inside.children = append(inside.children, made)
	}
	s.open = append(s.open, made)
	return nil
}

func (s *scan) endElement(e xml.EndElement, start int) *fault {
	name := rawName(e.Name)
	if len(s.open) == 0 {
		return faultf(start, "</%s> closes nothing: no element is open here", clip(name))
	}
	top := s.open[len(s.open)-1]
	if open := rawName(top.name); open != name {
		at := s.src.position(top.start)
		return faultf(start, "</%s> where </%s> is expected: <%[2]s>, opened at line %[3]d, column %[4]d, is not closed",
			clip(name), clip(open), at.Line, at.Column)
	}
	top.last = int(s.dec.InputOffset())
	s.open = s.open[:len(s.open)-1]
	return nil
}

func (s *scan) text(data xml.CharData, start int) *fault {
	raw := s.src.data[start:s.dec.InputOffset()]
	blank := len(raw) - len(bytes.TrimLeft(raw, " \t\r\n"))
	if len(s.open) == 0 {
		if blank == len(raw) {
			return nil
		}
		return faultf(start+blank, "text outside of <CrawlConfig>: remove it")
	}
	switch top := s.open[len(s.open)-1]; {
	case top.textAt > 0:
		top.text = append(top.text, data...)
	case blank < len(raw):
		s.parts++
		top.text, top.textAt = slices.Clone(data), start+blank
	}
	return nil
}

// syntaxFault says in words for the operator what encoding/xml found in the
// token that begins at start, having read up to offset.
func (s *scan) syntaxFault(err error, start, offset int) *fault {
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
func (s *scan) endFault() *fault {
	end := s.src.lastText()
	if len(s.open) == 0 {
		return faultf(end, "the file holds no element: a <CrawlConfig> is expected")
	}
	top := s.open[len(s.open)-1]
	at := s.src.position(top.start)
	return faultf(end, "the file ends here, but <%s>, opened at line %d, column %d, is not closed", clip(rawName(top.name)), at.Line, at.Column)
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
