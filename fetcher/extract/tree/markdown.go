package tree

import (
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// markdown writes a clean tree, which it changes, as Markdown: CommonMark with tables. Cells are not padded, since a
// long one would widen its whole column.
func markdown(top *html.Node) (string, error) {
	var k keeper
	k.inside(top, place{})
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)), strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true), table.WithNewlineBehavior(table.NewlineBehaviorPreserve)),
	))
	written, err := c.ConvertNode(top)
	if err != nil {
		return "", err
	}
	return k.harmless(string(written), top), nil
}

// keeper holds code separately while the rest of a page is written. Only code is written unescaped, so its begin and
// end must be certain: it is inserted at the end, when the text before it on its line is known.
type keeper struct{ codes []code }

type code struct {
	text     string
	language string
	block    bool // on separate lines
}

// place is the surroundings of a node.
type place struct{ table, line bool } // line: inside an element of one line

// Marks represent text that is inserted at the end. They are noncharacters, which textOnly removes from the text of
// pages.
const (
	codeBegins = "\uFDD0" // the number of a code follows
	codeEnds   = "\uFDD1"
	barMark    = "\uFDD2" // | outside of tables
	squareMark = "\uFDD3" // [
)

var (
	// textOnly replaces characters that end a line for some reader of Markdown, though HTML has them within a line, and
	// removes marks, and the two characters that are marks of the converter.
	textOnly = strings.NewReplacer("\r\n", "\n", "\r", " ", "\v", " ", "\f", " ", "\x1c", " ", "\x1d", " ", "\x1e", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ", "\x00", "\uFFFD",
		codeBegins, "\uFFFD", codeEnds, "\uFFFD", barMark, "\uFFFD", squareMark, "\uFFFD", "\a", "\uFFFD", "\uF002", "\uFFFD")
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	// syntax replaces characters that the converter does not escape in some places where they matter: a link's text may
	// continue on the next line, and a row of dashes and bars makes a table of the lines around it.
	syntax        = strings.NewReplacer("[", squareMark, "|", barMark)
	syntaxInTable = strings.NewReplacer("[", squareMark)
)

func (k *keeper) inside(n *html.Node, at place) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			c.Data = plainText(c.Data, at)
			continue
		}
		switch c.Data {
		case "pre", "code", "kbd", "samp", "var":
			c = k.keep(c, at)
			continue
		}
		in := at
		switch c.Data {
		case "table":
			in = place{true, true}
		case "a", "h1", "h2", "h3", "h4", "h5", "h6":
			in.line = true
		}
		k.inside(c, in)
	}
	joinTexts(n)
}

// joinTexts joins adjacent texts, for which the converter takes quadratic time.
func joinTexts(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.TextNode || c.NextSibling == nil || c.NextSibling.Type != html.TextNode {
			continue
		}
		var b strings.Builder
		b.WriteString(c.Data)
		for next := c.NextSibling; next != nil && next.Type == html.TextNode; next = c.NextSibling {
			b.WriteString(next.Data)
			n.RemoveChild(next)
		}
		c.Data = b.String()
	}
}

func plainText(s string, at place) string {
	if s = textOnly.Replace(s); at.table {
		return syntaxInTable.Replace(s)
	}
	return syntax.Replace(s)
}

// keep replaces an element with code by a mark, and returns that.
func (k *keeper) keep(n *html.Node, at place) *html.Node {
	kept := code{text: codeText(n), language: language(n), block: n.Data == "pre" && !at.line}
	instead := &html.Node{Type: html.TextNode, Data: " "}
	switch {
	case strings.TrimSpace(kept.text) == "":
	case at.table && strings.Contains(kept.text, "|"): // a bar ends a cell, even in code
		instead.Data = plainText(kept.text, at)
	default:
		instead.Data = codeBegins + strconv.Itoa(len(k.codes)) + codeEnds
		k.codes = append(k.codes, kept)
	}
	if kept.block {
		p := &html.Node{Type: html.ElementNode, Data: "p"}
		p.AppendChild(instead)
		instead = p
	}
	n.Parent.InsertBefore(instead, n)
	n.Parent.RemoveChild(n)
	return instead
}

// codeText returns the text of code, with \n as its only line end.
func codeText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case d.Data == "br" || d.Data == "div" && b.Len() > 0:
			b.WriteByte('\n')
		}
	}
	return textOnly.Replace(lineEnds.Replace(b.String()))
}

// language returns the language named by the first class of the code or its content.
func language(n *html.Node) string {
	if name, ok := strings.CutPrefix(valueOf(n, "class"), "language-"); ok {
		return name
	}
	for d := range n.Descendants() {
		if name, ok := strings.CutPrefix(valueOf(d, "class"), "language-"); ok {
			return name
		}
	}
	return ""
}

// putIn returns Markdown with everything inserted. Without withCode, code is written like other text.
func (k *keeper) putIn(written string, withCode bool) string {
	var b strings.Builder
	for line := range strings.Lines(written) {
		line, ended := strings.CutSuffix(line, "\n")
		k.line(&b, plainLine(line), withCode)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// plainLine replaces the marks of a line, except for code.
func plainLine(line string) string {
	bar := "|"
	if strings.Contains(line, barMark) && strings.Trim(strings.ReplaceAll(line, barMark, ""), "-:| \t>\\.)*+0123456789") == "" {
		bar = `\|`
	}
	line = strings.ReplaceAll(line, barMark, bar)
	line = strings.ReplaceAll(line, squareMark, `\[`)
	for _, fence := range []string{"~~~", "```"} {
		if strings.Contains(line, fence) {
			line = strings.ReplaceAll(line, `\`+fence[:1], fence[:1])
			line = strings.ReplaceAll(line, fence[:1], "&#"+strconv.Itoa(int(fence[0]))+";")
		}
	}
	return line
}

func (k *keeper) line(b *strings.Builder, line string, withCode bool) {
	before, rest, found := strings.Cut(line, codeBegins)
	for start := b.Len(); found; before, rest, found = strings.Cut(rest, codeBegins) {
		number, after, _ := strings.Cut(rest, codeEnds)
		rest = after
		b.WriteString(before)
		n, err := strconv.Atoi(number)
		if err != nil || n >= len(k.codes) {
			continue
		}
		c, prefix := &k.codes[n], ""
		fenced := c.block && b.Len() == start+len(before) && strings.TrimSpace(after) == ""
		if fenced {
			prefix, fenced = continued(before)
		}
		switch {
		case !withCode:
			b.WriteString(escaped(oneLine(c.text)))
		case fenced && len(prefix)*strings.Count(c.text, "\n") <= maxPrefixes:
			c.writeBlock(b, prefix)
		default:
			writeSpan(b, oneLine(c.text))
		}
	}
	b.WriteString(before)
}

// maxPrefixes bounds the bytes that prefixes add to code of many lines.
const maxPrefixes = 1 << 20

// continued returns the prefix of further lines after a first prefix. It returns false if other text precedes.
func continued(prefix string) (string, bool) {
	further := []byte(prefix)
	for i, char := range further {
		switch {
		case char == '>':
		case strings.IndexByte(" -.)0123456789", char) < 0:
			return "", false
		default:
			further[i] = ' '
		}
	}
	// A word that only looks like a list marker, such as 12, would stand before the fence.
	for word := range strings.FieldsSeq(prefix) {
		number := strings.TrimRight(word, ".)")
		if _, err := strconv.Atoi(number); word != strings.Repeat(">", len(word)) && word != "-" && (err != nil || len(word) != len(number)+1) {
			return "", false
		}
	}
	return string(further), true
}

// writeBlock writes code in a fence, with a prefix before each line except the first.
func (c *code) writeBlock(b *strings.Builder, prefix string) {
	fence := strings.Repeat("`", max(3, longestRun(c.text)+1))
	b.WriteString(fence + c.language)
	for line := range strings.SplitSeq(strings.Trim(c.text, "\n"), "\n") {
		b.WriteString("\n" + prefix + line)
	}
	b.WriteString("\n" + prefix + fence)
}

// writeSpan writes code of one line.
func writeSpan(b *strings.Builder, line string) {
	fence, pad := strings.Repeat("`", longestRun(line)+1), ""
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		pad = " "
	}
	b.WriteString(fence + pad + line + pad + fence)
}

func oneLine(code string) string { return strings.Join(strings.Fields(code), " ") }

// longestRun returns the length of the longest run of `.
func longestRun(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
