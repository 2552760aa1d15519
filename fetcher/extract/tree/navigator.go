package tree

import (
	"strings"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// xpathNodes is the result of an expression that selects nodes.
type xpathNodes = *xpath.NodeIterator

// navigator implements XPath navigation on an HTML tree.
type navigator struct {
	at   *html.Node
	attr int // of at, -1 for the node itself
}

// NodeType implements xpath.NodeNavigator.
func (n *navigator) NodeType() xpath.NodeType {
	switch n.at.Type {
	case html.CommentNode:
		return xpath.CommentNode
	case html.TextNode:
		return xpath.TextNode
	case html.DocumentNode, html.DoctypeNode, html.ErrorNode, html.RawNode:
		return xpath.RootNode
	case html.ElementNode:
	}
	if n.attr >= 0 {
		return xpath.AttributeNode
	}
	return xpath.ElementNode
}

// LocalName implements xpath.NodeNavigator.
func (n *navigator) LocalName() string {
	if n.attr >= 0 {
		return n.at.Attr[n.attr].Key
	}
	if n.at.Type == html.ElementNode {
		return n.at.Data
	}
	return ""
}

// Prefix implements xpath.NodeNavigator.
func (*navigator) Prefix() string { return "" }

// Value implements xpath.NodeNavigator: the value for comparisons.
func (n *navigator) Value() string {
	switch {
	case n.attr >= 0:
		return n.at.Attr[n.attr].Val
	case n.at.Type == html.ElementNode, n.at.Type == html.DocumentNode:
		var b strings.Builder
		for d := range n.at.Descendants() {
			if d.Type == html.TextNode {
				b.WriteString(d.Data)
			}
		}
		return b.String()
	}
	return n.at.Data
}

// Copy implements xpath.NodeNavigator.
func (n *navigator) Copy() xpath.NodeNavigator {
	c := *n
	return &c
}

// MoveToRoot implements xpath.NodeNavigator.
func (n *navigator) MoveToRoot() {
	for n.at.Parent != nil {
		n.at = n.at.Parent
	}
	n.attr = -1
}

// MoveToParent implements xpath.NodeNavigator.
func (n *navigator) MoveToParent() bool {
	if n.attr >= 0 {
		n.attr = -1
		return true
	}
	return n.to(n.at.Parent)
}

// to moves to a node, if it is not nil.
func (n *navigator) to(node *html.Node) bool {
	if node == nil {
		return false
	}
	n.at = node
	return true
}

// MoveToNextAttribute implements xpath.NodeNavigator.
func (n *navigator) MoveToNextAttribute() bool {
	if n.at.Type != html.ElementNode || n.attr+1 >= len(n.at.Attr) {
		return false
	}
	n.attr++
	return true
}

// MoveToChild implements xpath.NodeNavigator.
func (n *navigator) MoveToChild() bool { return n.attr < 0 && n.to(n.at.FirstChild) }

// MoveToFirst implements xpath.NodeNavigator.
func (n *navigator) MoveToFirst() bool {
	if n.attr >= 0 || n.at.PrevSibling == nil {
		return false
	}
	for n.at.PrevSibling != nil {
		n.at = n.at.PrevSibling
	}
	return true
}

// MoveToNext implements xpath.NodeNavigator.
func (n *navigator) MoveToNext() bool { return n.attr < 0 && n.to(n.at.NextSibling) }

// MoveToPrevious implements xpath.NodeNavigator.
func (n *navigator) MoveToPrevious() bool { return n.attr < 0 && n.to(n.at.PrevSibling) }

// MoveTo implements xpath.NodeNavigator.
func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	if !ok {
		return false
	}
	*n = *o
	return true
}

// valueOf returns an element's text, or the value of an attribute.
func valueOf(n *html.Node, attribute string) string {
	if attribute == "" {
		var b strings.Builder
		appendText(&b, n)
		return b.String()
	}
	for _, a := range n.Attr {
		if strings.EqualFold(a.Key, attribute) {
			return a.Val
		}
	}
	return ""
}

// appendText writes the text inside an element, with a space where elements begin a new word. It skips content that is
// not text of the page, such as scripts. The depth of a tree is bounded.
func appendText(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type != html.ElementNode:
		default:
			tag := markup.Lookup([]byte(c.Data))
			if tag == markup.Script || tag == markup.Style || tag == markup.Template || tag == markup.Noscript {
				continue
			}
			between := tag.Is(markup.Separates)
			if between {
				b.WriteByte(' ')
			}
			appendText(b, c)
			if between {
				b.WriteByte(' ')
			}
		}
	}
}
