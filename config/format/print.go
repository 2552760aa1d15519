package format

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/config"
)

const (
	// indentWidth is the indentation of a level.
	indentWidth = 2
	// lineWidth is the longest line for an element with others inside. A longer tag keeps its line breaks, since its
	// author grouped the attributes.
	lineWidth = 140
)

var declaration = []byte(`<?xml version="1.0" encoding="UTF-8"?>`)

type printer struct {
	text []byte
	out  bytes.Buffer
}

func (p *printer) raw(n *config.Markup) []byte { return p.text[n.Start:n.End] }

// name returns an element's name, with its prefix.
func (p *printer) name(n *config.Markup) []byte {
	raw := p.raw(n)[1:]
	return raw[:bytes.IndexAny(raw, " \t\n/>")]
}

// body returns everything between an element's tags.
func (p *printer) body(n *config.Markup) []byte {
	inside := p.text[n.End:n.Last]
	return inside[:max(0, bytes.LastIndexByte(inside, '<'))]
}

// line begins a line at a level.
func (p *printer) line(level int) {
	p.out.WriteByte('\n')
	p.out.Write(spaces(level * indentWidth))
}

func spaces(n int) []byte { return bytes.Repeat([]byte(" "), n) }

// children prints the content of an element, or of the file.
func (p *printer) children(parent *config.Markup, level int) {
	end := parent.End // of the part before the child
	for i, c := range parent.Children {
		lines := bytes.Count(p.text[end:c.Start], []byte("\n"))
		end = max(c.End, c.Last)
		switch isElement := c.Last > 0; {
		case i == 0 && parent.Last == 0: // the first in the file
		case !isElement && lines == 0 && p.endsLine(end): // a comment on the line of its subject
			p.out.WriteByte(' ')
		default:
			if lines > 1 {
				p.out.WriteByte('\n')
			}
			p.line(level)
		}
		if c.Last == 0 {
			p.other(c, level)
		} else {
			p.element(c, level)
		}
	}
}

// endsLine reports whether only white space follows an offset on its line.
func (p *printer) endsLine(offset int) bool {
	rest := bytes.TrimLeft(p.text[offset:], " \t")
	return len(rest) == 0 || rest[0] == '\n'
}

// other prints a comment or an instruction. Lines of a comment with at least its indentation move with it.
func (p *printer) other(n *config.Markup, level int) {
	raw := p.raw(n)
	if bytes.HasPrefix(raw, []byte("<?xml")) && len(raw) > 5 && bytes.IndexByte([]byte(" \t\n?"), raw[5]) >= 0 {
		p.out.Write(declaration)
		return
	}
	before := p.text[bytes.LastIndexByte(p.text[:n.Start], '\n')+1 : n.Start]
	indented := len(bytes.TrimLeft(before, " \t")) == 0
	for i, line := range bytes.Split(raw, []byte("\n")) {
		if i > 0 {
			p.out.WriteByte('\n')
			if rest, ok := bytes.CutPrefix(line, before); ok && indented && len(rest) > 0 {
				p.out.Write(spaces(level * indentWidth))
				line = rest
			}
		}
		p.out.Write(line)
	}
}

func (p *printer) element(n *config.Markup, level int) {
	if text, ok := p.inOneLine(n, lineWidth-level*indentWidth); ok {
		p.out.Write(text)
		return
	}
	p.tag(n, level)
	switch {
	case n.TextAt > 0: // its white space is significant
		p.out.Write(p.body(n))
	case len(n.Children) == 0:
		return
	default:
		p.children(n, level+1)
		p.line(level)
	}
	fmt.Fprintf(&p.out, "</%s>", p.name(n))
}

// tag prints a start tag, with its line breaks.
func (p *printer) tag(n *config.Markup, level int) {
	name := p.name(n)
	p.out.WriteByte('<')
	p.out.Write(name)
	column := level*indentWidth + utf8.RuneCount(name) + 2
	for i, a := range p.attributes(n) {
		switch {
		case !a.breaks:
			p.out.WriteByte(' ')
		case i == 0: // all attributes are below the name
			column = (level + 2) * indentWidth
			fallthrough
		default:
			p.out.WriteByte('\n')
			p.out.Write(spaces(column))
		}
		p.out.Write(a.text)
	}
	p.out.WriteString(tagEnd(n))
}

func tagEnd(n *config.Markup) string {
	if n.TextAt == 0 && len(n.Children) == 0 {
		return "/>"
	}
	return ">"
}

// inOneLine returns the element if its author wrote it on one line and it fits.
func (p *printer) inOneLine(n *config.Markup, width int) ([]byte, bool) {
	text, ok := p.appendLine(nil, n, 4*width) // bytes
	return text, ok && utf8.RuneCount(text) <= width && bytes.IndexByte(p.text[n.Start:n.Last], '\n') < 0
}

// appendLine appends the element on one line; ok is false if that exceeds most bytes.
func (p *printer) appendLine(to []byte, n *config.Markup, most int) (line []byte, ok bool) {
	name := p.name(n)
	to = append(append(to, '<'), name...)
	for _, a := range p.attributes(n) {
		to = append(append(to, ' '), a.text...)
	}
	to = append(to, tagEnd(n)...)
	if n.TextAt > 0 {
		to = append(to, p.body(n)...)
	} else {
		for _, c := range n.Children {
			if c.Last == 0 {
				to = append(to, p.raw(c)...)
			} else if to, ok = p.appendLine(to, c, most); !ok {
				return to, false
			}
			if len(to) > most {
				return to, false
			}
		}
		if len(n.Children) == 0 {
			return to, len(to) <= most
		}
	}
	to = append(append(append(to, "</"...), name...), '>')
	return to, len(to) <= most
}

// attribute is an attribute as written, without space around its equals sign.
type attribute struct {
	text   []byte
	breaks bool // it begins a line
}

func (p *printer) attributes(n *config.Markup) (all []attribute) {
	rest := p.raw(n)[1+len(p.name(n)):]
	for {
		found := bytes.TrimLeft(rest, " \t\n")
		if found[0] == '/' || found[0] == '>' {
			return all
		}
		breaks := bytes.IndexByte(rest[:len(rest)-len(found)], '\n') >= 0
		equals := bytes.IndexByte(found, '=')
		name, value := bytes.TrimRight(found[:equals], " \t\n"), bytes.TrimLeft(found[equals+1:], " \t\n")
		end := bytes.IndexByte(value[1:], value[0]) + 2
		text := append(append(bytes.Clone(name), '='), value[:end]...)
		all, rest = append(all, attribute{text, breaks}), value[end:]
	}
}
