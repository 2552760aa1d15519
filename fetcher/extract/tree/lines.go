package tree

import (
	"strings"

	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// writeLines writes the text of a clean tree, each block on separate lines.
func writeLines(b *strings.Builder, top *html.Node) {
	w := lineWriter{b: b}
	w.inside(top, false)
}

// space is the separator between two words.
type space uint8

const (
	joined space = iota
	blank
	tab
	line
	paragraph
)

func (s space) String() string { return [...]string{"", " ", "\t", "\n", "\n\n"}[s] }

// lineWriter writes words with one separator between them: the widest in the source.
type lineWriter struct {
	b    *strings.Builder
	next space // before the next word
}

func (w *lineWriter) write(s string) {
	if w.b.Len() > 0 {
		w.b.WriteString(w.next.String())
	}
	w.next = joined
	w.b.WriteString(s)
}

func (w *lineWriter) inside(n *html.Node, pre bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			w.text(c.Data, pre)
			continue
		}
		around := spaceAround(c.Data)
		w.next = max(w.next, around)
		w.inside(c, pre || c.Data == "pre")
		w.next = max(w.next, around)
	}
}

// spaceAround returns the separator of an element's text from the text around it.
func spaceAround(element string) space {
	switch element {
	case "td", "th":
		return tab
	case "br", "tr", "li", "dt", "dd", "div", "caption", "figcaption", "summary", "thead", "tbody", "tfoot":
		return line
	}
	if markup.Lookup([]byte(element)).Is(markup.Separates) {
		return paragraph
	}
	return joined
}

func (w *lineWriter) text(s string, pre bool) {
	if pre {
		if s = strings.Trim(s, "\n"); s != "" {
			w.write(s)
		}
		return
	}
	const white = " \t\n\r\f"
	if strings.TrimLeft(s, white) != s {
		w.next = max(w.next, blank)
	}
	words := 0
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(white, r) }) {
		if words++; words > 1 {
			w.next = max(w.next, blank)
		}
		w.write(word)
	}
	if strings.TrimRight(s, white) != s {
		w.next = max(w.next, blank)
	}
}
