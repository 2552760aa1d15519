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

// markdown writes a clean tree, which it changes, as Markdown: CommonMark with tables. Cells
// are not padded: a long one would make its whole column as wide.
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

// keeper keeps code apart while the rest of a page is written. Only code is written as it is, tags and all, so where it begins
// and ends must be sure: it is put in at the end, when what stands before it on its line is known.
type keeper struct{ codes []code }

type code struct {
	text     string
	language string
	block    bool // lines of its own
}

// place is what a node is in.
type place struct{ table, line bool } // line: what has one line only

// Marks stand for what is put in at the end. They are noncharacters, which the text of no page has: textOnly takes them out.
const (
	codeBegins = "\uFDD0" // the number of a code follows
	codeEnds   = "\uFDD1"
	barMark    = "\uFDD2" // | outside of tables
	squareMark = "\uFDD3" // [
)

var (
	// textOnly takes out of text what ends a line for some reader of Markdown, though HTML has it within a line, marks, and the
	// two characters that are marks of the converter.
	textOnly = strings.NewReplacer("\r\n", "\n", "\r", " ", "\v", " ", "\f", " ", "\x1c", " ", "\x1d", " ", "\x1e", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ", "\x00", "\uFFFD",
		codeBegins, "\uFFFD", codeEnds, "\uFFFD", barMark, "\uFFFD", squareMark, "\uFFFD", "\a", "\uFFFD", "\uF002", "\uFFFD")
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	// syntax stands for what the converter would write as it is in some places where it matters: a link's text may go on
	// on the next line, and a row of dashes and bars makes a table of the lines around it.
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

// joinTexts makes one text of texts beside each other: the converter takes quadratic time for it.
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

// keep puts a mark in the place of an element with code, and returns it.
func (k *keeper) keep(n *html.Node, at place) *html.Node {
	kept := code{text: codeText(n), language: language(n), block: n.Data == "pre" && !at.line}
	instead := &html.Node{Type: html.TextNode, Data: " "}
	switch {
	case strings.TrimSpace(kept.text) == "":
	case at.table && strings.Contains(kept.text, "|"): // a bar ends a cell, in code, too
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

// codeText returns the text of code, with \n alone as the end of a line.
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

// language returns what the first class of the code or of what is in it names.
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

// putIn writes Markdown with all that is kept in its place. Without code, its text is written like any other.
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

// plainLine writes what marks stand for, but code, and no fence: no code is in it yet.
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

// maxPrefixes is how many bytes code of many lines may get in front of them.
const maxPrefixes = 1 << 20

// continued makes the prefix of further lines of what begins behind a prefix. It is false where other text stands before.
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
	// What has the form of a list without being one, such as 12, would stand before the fence.
	for word := range strings.FieldsSeq(prefix) {
		number := strings.TrimRight(word, ".)")
		if _, err := strconv.Atoi(number); word != strings.Repeat(">", len(word)) && word != "-" && (err != nil || len(word) != len(number)+1) {
			return "", false
		}
	}
	return string(further), true
}

// writeBlock writes code in a fence, with a prefix before each line but the first.
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

// longestRun returns how many ` follow one another at most.
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
