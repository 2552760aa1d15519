package format

import (
	"bytes"
	"unicode/utf8"
)

const (
	// indentWidth is how far a level is indented.
	indentWidth = 2
	// lineWidth is how long a line may be that holds an element with others inside. A tag that
	// is longer stays as it is broken: its author knows which attributes belong together.
	lineWidth = 140
)

var declaration = []byte(`<?xml version="1.0" encoding="UTF-8"?>`)

type printer struct{ out bytes.Buffer }

// line begins a line at a level.
func (p *printer) line(level int) {
	p.out.WriteByte('\n')
	p.out.Write(spaces(level * indentWidth))
}

func spaces(n int) []byte { return bytes.Repeat([]byte(" "), n) }

// children prints what is inside of an element, or of the file.
func (p *printer) children(parent *node, level int) {
	for i, c := range parent.children {
		first := i == 0 && parent.name == ""
		switch beside := c.name == "" && c.lines == 0 && c.ends; {
		case first:
		case beside: // a comment on what stands before it on the line
			p.out.WriteByte(' ')
		default:
			if c.lines > 1 {
				p.out.WriteByte('\n')
			}
			p.line(level)
		}
		if c.name == "" {
			p.other(c, level)
		} else {
			p.element(c, level)
		}
	}
}

// other prints a comment or an instruction. Lines of a comment that are indented as far as it is move with it.
func (p *printer) other(n *node, level int) {
	if bytes.HasPrefix(n.raw, []byte("<?xml")) && len(n.raw) > 5 && bytes.IndexByte([]byte(" \t\n?"), n.raw[5]) >= 0 {
		p.out.Write(declaration)
		return
	}
	for i, line := range bytes.Split(n.raw, []byte("\n")) {
		if i > 0 {
			p.out.WriteByte('\n')
			if rest, ok := bytes.CutPrefix(line, n.prefix); ok && n.prefix != nil && len(rest) > 0 {
				p.out.Write(spaces(level * indentWidth))
				line = rest
			}
		}
		p.out.Write(line)
	}
}

func (p *printer) element(n *node, level int) {
	if text, ok := n.inOneLine(lineWidth - level*indentWidth); ok {
		p.out.Write(text)
		return
	}
	p.tag(n, level)
	switch {
	case n.verbatim:
		p.out.Write(n.body)
	case len(n.children) == 0:
		return
	default:
		p.children(n, level+1)
		p.line(level)
	}
	p.out.WriteString("</" + n.name + ">")
}

// tag prints a start tag, with lines broken where the author broke them.
func (p *printer) tag(n *node, level int) {
	p.out.WriteString("<" + n.name)
	column := level*indentWidth + utf8.RuneCountInString(n.name) + 2
	for i, a := range attributes(n) {
		switch {
		case !a.breaks:
			p.out.WriteByte(' ')
		case i == 0: // all of them stand below the name
			column = (level + 2) * indentWidth
			fallthrough
		default:
			p.out.WriteByte('\n')
			p.out.Write(spaces(column))
		}
		p.out.Write(a.text)
	}
	p.out.WriteString(n.tagEnd())
}

func (n *node) tagEnd() string {
	if !n.verbatim && len(n.children) == 0 {
		return "/>"
	}
	return ">"
}

// inOneLine is the element if its author wrote it in one line and it fits.
func (n *node) inOneLine(width int) ([]byte, bool) {
	text, ok := n.appendLine(nil, 4*width) // bytes
	return text, ok && utf8.RuneCount(text) <= width && bytes.IndexByte(n.whole, '\n') < 0
}

// appendLine appends the element in one line; ok is false if that gets longer than most bytes.
func (n *node) appendLine(to []byte, most int) (line []byte, ok bool) {
	to = append(append(to, '<'), n.name...)
	for _, a := range attributes(n) {
		to = append(append(to, ' '), a.text...)
	}
	to = append(to, n.tagEnd()...)
	if n.verbatim {
		to = append(to, n.body...)
	} else {
		for _, c := range n.children {
			if c.name == "" {
				to = append(to, c.raw...)
			} else if to, ok = c.appendLine(to, most); !ok {
				return to, false
			}
			if len(to) > most {
				return to, false
			}
		}
		if len(n.children) == 0 {
			return to, len(to) <= most
		}
	}
	to = append(append(append(to, "</"...), n.name...), '>')
	return to, len(to) <= most
}

// attribute is one as it is written, without space around its equals sign.
type attribute struct {
	text   []byte
	breaks bool // it begins a line
}

func attributes(n *node) (all []attribute) {
	rest := n.raw[1+len(n.name):]
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
