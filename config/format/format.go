// Package format lays out a CrawlConfig.xml: two spaces a level, one child a line, and nothing that
// changes what the file says. Attributes, comments and the lines that the author left blank stay
// where they are.
package format

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/config"
)

// node is an element, a comment or a processing instruction.
type node struct {
	raw      []byte // a comment, an instruction, or the start tag of an element
	name     string // of an element, with its prefix; empty for others
	prefix   []byte // white space before it, if nothing else stands before it on its line
	lines    int    // how many lines end between what stands before it and it
	ends     bool   // a line ends after it
	children []*node
	// body is all between an element's tags, whole everything from its first tag to its last.
	body, whole []byte
	verbatim    bool // the body holds text, so its white space counts
}

// File returns the text of a configuration in the project's layout, always in UTF-8. Name stands in
// errors. A file that is not well-formed XML is an error that says where; one that breaks rules of
// the configuration is not.
func File(name string, raw []byte) ([]byte, error) {
	text, err := config.Text(name, raw)
	if err != nil {
		return nil, err
	}
	// XML takes each end of a line for LF, in text and in values, too (XML 1.0, 2.11).
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	top, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &printer{}
	p.children(top, 0)
	p.out.WriteByte('\n')
	return p.out.Bytes(), nil
}

// reader builds the nodes of a file that is known to be well-formed.
type reader struct {
	text  []byte
	open  []*node // the first one stands for the file
	from  []int   // where the open elements begin
	inner []int   // and where their bodies do
	lines int     // line ends since the last tag, comment or instruction
}

func read(text []byte) (*node, error) {
	r := &reader{text: text, open: []*node{{}}, from: []int{0}, inner: []int{0}}
	dec := xml.NewDecoder(bytes.NewReader(text))
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		start := int(dec.InputOffset())
		token, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			if last := r.last(); last != nil {
				last.ends = true
			}
			return r.open[0], nil
		}
		if err != nil {
			return nil, err
		}
		r.token(token, start, int(dec.InputOffset()))
	}
}

// last is the child that was added last to the open element; nil if it has none.
func (r *reader) last() *node {
	children := r.open[len(r.open)-1].children
	if len(children) == 0 {
		return nil
	}
	return children[len(children)-1]
}

func (r *reader) token(token xml.Token, start, end int) {
	raw := r.text[start:end]
	switch token.(type) {
	case xml.StartElement:
		n := r.add(raw, start)
		n.name = string(raw[1 : 1+bytes.IndexAny(raw[1:], " \t\n/>")])
		r.open, r.from, r.inner = append(r.open, n), append(r.from, start), append(r.inner, end)
	case xml.EndElement:
		top := len(r.open) - 1
		n := r.open[top]
		n.whole, n.body = r.text[r.from[top]:end], r.text[r.inner[top]:start]
		r.open, r.from, r.inner = r.open[:top], r.from[:top], r.inner[:top]
		r.lines = 0
	case xml.CharData:
		r.lines = bytes.Count(raw, []byte("\n"))
		if last := r.last(); last != nil {
			last.ends = r.lines > 0
		}
		if len(bytes.TrimLeft(raw, " \t\n")) > 0 {
			r.open[len(r.open)-1].verbatim = true
		}
	default:
		r.add(raw, start)
	}
}

// add makes raw, which begins at start, a child of the open element.
func (r *reader) add(raw []byte, start int) *node {
	n := &node{raw: raw, lines: r.lines}
	if before := r.text[bytes.LastIndexByte(r.text[:start], '\n')+1 : start]; len(bytes.TrimLeft(before, " \t")) == 0 {
		n.prefix = before
	}
	r.lines = 0
	top := r.open[len(r.open)-1]
	top.children = append(top.children, n)
	return n
}
