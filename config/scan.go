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
	// maxConditionDepth is the deepest nesting of And, Or and Not.
	maxConditionDepth = 1000
	// maxElementDepth bounds the nesting of elements before it becomes expensive; it allows for the elements around the
	// conditions.
	maxElementDepth = maxConditionDepth + 24
	// maxParts bounds the memory of a file: elements, attributes and pieces of text together. Half a million rules fit.
	maxParts = 8_000_000
)

// Markup is an element of a file, a comment or a processing instruction, with the byte offsets that messages and the
// layout need. Lines and columns are derived from them.
type Markup struct {
	Start, End int // of the start tag, or of the whole comment or instruction
	Last       int // end of the end tag; 0 for a comment or an instruction
	TextAt     int // offset of the first direct text that is not white space; 0: none
	Children   []*Markup

	name    xml.Name   // its Space is the prefix as written
	attrs   []xml.Attr // likewise, in the order of the file, including duplicates
	text    []byte     // direct text
	allowed []allowComment
}

// allowComment is a comment before an element that silences messages about it.
type allowComment struct {
	at   int
	text string
}

// scan parses a file into elements, or finds the first place where it is not well-formed.
type scan struct {
	src  *source
	dec  *xml.Decoder
	root *Markup
	file Markup // holds the outermost element
	open []*Markup
	// whole also keeps comments and instructions.
	whole bool
	parts int
	most  int // of parts
	// allowed are the comments before the next element.
	allowed []allowComment
}

func newScan(src *source) *scan {
	return &scan{src: src, dec: xml.NewDecoder(bytes.NewReader(src.data)), most: maxParts}
}

func (s *scan) run() (*Markup, *fault) {
	s.dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	begin := len(s.src.data) - len(bytes.TrimLeft(s.src.data, " \t\r\n"))
	if begin == len(s.src.data) {
		return nil, faultf(0, "the file is empty: a <CrawlConfig> is expected")
	}
	if s.src.data[begin] != '<' {
		return nil, faultf(begin, "this is not XML: the file must begin with <CrawlConfig> or <?xml")
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
		s.other(start)
	case xml.ProcInst:
		if token.Target == "xml" && start > 0 {
			f = faultf(start, "<?xml ...?> must be at the beginning of the file")
		}
		s.other(start)
	}
	return f == nil, f
}

func (s *scan) startElement(e xml.StartElement, start int) *fault {
	if s.root != nil && len(s.open) == 0 {
		return faultf(start, "<%s> is a second top-level element: a file has one <CrawlConfig>", clip(rawName(e.Name)))
	}
	if len(s.open) == maxElementDepth {
		return faultf(start, "elements are nested deeper than %d: conditions can be nested to a depth of %d", maxElementDepth, maxConditionDepth)
	}
	s.parts += 1 + len(e.Attr)
	if s.parts > s.most {
		return faultf(start, "the file has more than %d elements and attributes: split it", s.most)
	}
	made := &Markup{name: e.Name, attrs: e.Attr, Start: start, End: int(s.dec.InputOffset()), allowed: s.allowed}
	s.allowed = nil
	if s.root == nil {
		s.root = made
	}
	s.add(made)
	s.open = append(s.open, made)
	return nil
}

func (s *scan) add(made *Markup) {
	inside := &s.file
	if len(s.open) > 0 {
		inside = s.open[len(s.open)-1]
	}
	inside.Children = append(inside.Children, made)
}

// other adds a comment or an instruction, which ends at the decoder's position.
func (s *scan) other(start int) {
	if s.whole {
		s.add(&Markup{Start: start, End: int(s.dec.InputOffset())})
	}
}

func (s *scan) endElement(e xml.EndElement, start int) *fault {
	name := rawName(e.Name)
	if len(s.open) == 0 {
		return faultf(start, "</%s> closes no element: none is open here", clip(name))
	}
	top := s.open[len(s.open)-1]
	if open := rawName(top.name); open != name {
		at := s.src.position(top.Start)
		return faultf(start, "</%s> found where </%s> is expected: <%[2]s>, opened at line %[3]d, column %[4]d, is not closed",
			clip(name), clip(open), at.Line, at.Column)
	}
	top.Last = int(s.dec.InputOffset())
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
		return faultf(start+blank, "text outside <CrawlConfig>: remove it")
	}
	switch top := s.open[len(s.open)-1]; {
	case top.TextAt > 0:
		top.text = append(top.text, data...)
	case blank < len(raw):
		s.parts++
		top.text, top.TextAt = slices.Clone(data), start+blank
	}
	return nil
}

// syntaxFault describes an error of encoding/xml for the operator: in the token that begins at start, read up to
// offset.
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
		return faultf(start+amp, "%s is not defined in XML: write &amp; for the character &", quote(string(read[amp:])))
	case strings.HasPrefix(message, "unescaped < inside"):
		return faultf(offset-1, "< inside an attribute's value: write &lt;, or close the quote before it")
	case strings.HasPrefix(message, "unescaped ]]>"):
		return faultf(offset-3, "]]> outside a CDATA section: write ]]&gt;")
	case strings.HasPrefix(message, "expected attribute name"):
		return faultf(offset, "an attribute's name, > or /> is expected here")
	case strings.HasPrefix(message, "attribute name without ="):
		return faultf(offset-1, "= and a value in quotes are expected here, after the attribute's name")
	case strings.HasPrefix(message, "unquoted or missing"):
		return faultf(offset-1, "an attribute's value must be in quotes")
	case strings.HasPrefix(message, "expected element name after <"):
		return faultf(start, "< does not begin a tag here: write &lt;")
	default:
		return faultf(offset-1, "not well-formed XML: %s", clip(message))
	}
}

// endFault describes an unexpected end of the file.
func (s *scan) endFault() *fault {
	end := s.src.lastText()
	if len(s.open) == 0 {
		return faultf(end, "the file contains no element: a <CrawlConfig> is expected")
	}
	top := s.open[len(s.open)-1]
	at := s.src.position(top.Start)
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
