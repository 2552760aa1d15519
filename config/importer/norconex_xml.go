package importer

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
)

// node is an element of Norconex's file, with its position.
type node struct {
	line // its own text, trimmed
	name string
	attr map[string]string
	kids []*node
}

// maxNesting bounds the nesting of elements; Norconex's own are nested 8 deep.
const maxNesting = 50

// velocity matches what Norconex's template engine replaces before the XML is parsed.
var velocity = regexp.MustCompile(`(?m)^\s*#(?:set|parse|include|if|foreach|macro)\b|\$!?\{?[A-Za-z_]`)

// parseNodes parses the file. Variables and includes of the template engine are errors, since their values are unknown
// here.
func parseNodes(file *crawlspace.File) (*node, []error) {
	d := xml.NewDecoder(bytes.NewReader(file.Content))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // already UTF-8
	top := &node{line: line{at: actionrules.Position{File: file.Name, Line: 1, Column: 1}}}
	open := []*node{top}
	var errs []error
	for {
		row, column := d.InputPos()
		at := line{at: actionrules.Position{File: file.Name, Line: row, Column: column}}
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			row, column = d.InputPos()
			at.at.Line, at.at.Column = row, column
			return nil, append(errs, at.errorf("this is not XML: %w", err))
		}
		in := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > maxNesting {
				return nil, append(errs, at.errorf("elements are nested deeper than %d", maxNesting))
			}
			made := &node{line: at, name: t.Name.Local, attr: make(map[string]string)}
			for _, a := range t.Attr {
				made.attr[a.Name.Local] = strings.TrimSpace(a.Value)
				errs = append(errs, templateFault(at, a.Value)...)
			}
			in.kids = append(in.kids, made)
			open = append(open, made)
		case xml.EndElement:
			in.text = strings.TrimSpace(in.text)
			open = open[:len(open)-1]
		case xml.CharData:
			in.text += string(t)
			errs = append(errs, templateFault(at, string(t))...)
		}
	}
	return top, errs
}

func templateFault(at line, text string) []error {
	if found := velocity.FindString(text); found != "" {
		return []error{at.errorf("%s belongs to the template engine: replace it with its value", clip(strings.TrimSpace(found)))}
	}
	return nil
}

// all returns the elements of a name in n.
func (n *node) all(name string) (found []*node) {
	for _, k := range n.kids {
		if k.name == name {
			found = append(found, k)
		}
	}
	return found
}

// class returns the last part of the class's name, which is its short form.
func (n *node) class() string {
	c := n.attr["class"]
	return c[strings.LastIndexByte(c, '.')+1:]
}

// flag reads a boolean attribute.
func (n *node) flag(name string, otherwise bool) (bool, error) {
	switch v := strings.ToLower(n.attr[name]); v {
	case "":
		return otherwise, nil
	case "true", "false":
		return v == "true", nil
	default:
		return false, n.errorf("%s=%s is neither true nor false", name, clip(v))
	}
}

// excludes reports whether an element in n could keep documents out.
func (n *node) excludes() bool {
	if _, filter := n.attr["onMatch"]; filter || n.name == "reject" || strings.HasSuffix(n.class(), "Filter") {
		return true
	}
	return slices.ContainsFunc(n.kids, (*node).excludes)
}

// label returns n as in the file.
func (n *node) label() string {
	if c := n.class(); c != "" {
		return fmt.Sprintf("<%s class=%q>", n.name, c)
	}
	return "<" + n.name + ">"
}

// duration is one part of a time: a number and its unit.
var duration = regexp.MustCompile(`^\s*(?:and\s+|,\s*)?([0-9]{1,9})\s*(milliseconds?|millis|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h)?\s*`)

// milliseconds parses a time in Norconex's syntax: a number of milliseconds, or numbers with units.
func milliseconds(text string) (total int64, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	units := map[byte]int64{'s': 1000, 'm': 60_000, 'h': 3_600_000}
	for parts := 0; text != ""; parts++ {
		m := duration.FindStringSubmatch(text)
		if m == nil || m[2] == "" && (parts > 0 || len(m[0]) < len(text)) {
			return 0, false
		}
		n, _ := strconv.ParseInt(m[1], 10, 64) // at most nine digits
		switch {
		case m[2] == "", strings.HasPrefix(m[2], "ms"), strings.HasPrefix(m[2], "milli"):
			total += n
		default:
			total += n * units[m[2][0]]
		}
		text = text[len(m[0]):]
		ok = true
	}
	return total, ok
}
