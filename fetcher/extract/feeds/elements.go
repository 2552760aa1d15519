package feeds

import (
	"errors"
	"io"
	"strings"
)

// Elements reads any XML file and calls fn for each element that path names, with the values of fields inside it, each
// in the order of the file. cut is set for a field if a limit left out some of its values, or parts of them. Elements
// inside an element are part of it. Errors are those of Sitemap.
func Elements(
	r io.Reader, o Options, path Path, fields []Path, fn func(values [][]string, cut []bool) error,
) (Summary, error) {
	in, err := open(r, o)
	if err != nil {
		return Summary{}, err
	}
	e := &elements{walker: newWalker(in.Reader), fields: fields}
	root, err := e.root()
	if err == nil && root.kind == endOfFile {
		err = e.fault(1, 1, "the file has no element")
	}
	for t := root; err == nil && t.kind != endOfFile; t, err = e.next() {
		if t.kind != startTag || !path.matches(e.open) {
			continue
		}
		if o.MaxEntries > 0 && e.Entries == o.MaxEntries {
			err = errEnough
			break
		}
		var values [][]string
		if values, err = e.element(&t); err == nil {
			e.Entries++
			err = fn(values, e.cut)
		}
		if err != nil {
			break // an incomplete element does not count
		}
	}
	return e.Summary, e.end(in, err)
}

// elements is one reading.
type elements struct {
	*walker
	Summary
	fields []Path
	values [][]string
	cut    []bool
	taking []taking
	left   int // of maxElement
}

// taking is a value being read: the text of the element at a depth.
type taking struct {
	field, depth int
	text         []byte
}

// maxElement bounds all values of one element together, in bytes; the rest is dropped.
const maxElement = 4 << 20

// element reads the rest of an element after its start tag.
func (e *elements) element(start *token) ([][]string, error) {
	depth := len(e.open)
	e.values, e.taking, e.left = make([][]string, len(e.fields)), nil, maxElement
	e.cut = make([]bool, len(e.fields))
	e.begin(start, depth)
	for e.within(depth) {
		e.most = maxContent
		t, err := e.next()
		e.most = 0
		switch {
		case err != nil:
			return nil, err
		case t.kind == endOfFile:
			return nil, errors.New("the element has no end") // next reports the cause
		case t.kind == startTag:
			e.begin(&t, depth)
		case t.kind == characters:
			e.take(t.text)
		case t.kind == endTag:
			e.finish()
		}
	}
	return e.values, nil
}

// begin starts the fields that an inner element, or the element itself, matches.
func (e *elements) begin(t *token, depth int) {
	inside := e.open[depth:]
	for i := range e.fields {
		f := &e.fields[i]
		switch {
		case !f.matches(inside):
		case f.attribute != "":
			e.add(i, t.attr(f.attribute))
		default:
			e.taking = append(e.taking, taking{field: i, depth: len(e.open)})
		}
	}
	e.apart()
}

func (e *elements) take(text string) {
	for i := range e.taking {
		at := &e.taking[i]
		if e.fields[at.field].directText && at.depth != len(e.open) {
			continue
		}
		n := min(len(text), max(maxContent-len(at.text), 0), e.left)
		e.cut[at.field] = e.cut[at.field] || n < len(text)
		at.text = append(at.text, text[:n]...)
		e.left -= n
	}
}

// apart separates the words of two elements.
func (e *elements) apart() {
	for i := range e.taking {
		if at := &e.taking[i]; len(at.text) > 0 && at.text[len(at.text)-1] != ' ' {
			at.text = append(at.text, ' ')
		}
	}
}

// finish adds the values of elements that have ended.
func (e *elements) finish() {
	kept := e.taking[:0]
	for _, at := range e.taking {
		if at.depth > len(e.open) {
			e.add(at.field, string(at.text))
			continue
		}
		kept = append(kept, at)
	}
	e.taking = kept
	e.apart()
}

func (e *elements) add(field int, value string) {
	value = strings.TrimSpace(strings.ToValidUTF8(value, "\uFFFD"))
	switch {
	case value == "":
	case len(e.values[field]) == maxList:
		e.cut[field] = true
	default:
		e.values[field] = append(e.values[field], value)
	}
}
