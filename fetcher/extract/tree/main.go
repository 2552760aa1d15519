package tree

import (
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// A main content of fewer than shortMain bytes that is less than a quarter of the page's text is more likely a notice
// or a box next to the article.
const shortMain = 500

// mainText returns the text of a page's main content, without menus, side columns and the like; "" if none is found.
func (p *page) mainText() string {
	article := p.main()
	if article == nil {
		return ""
	}
	return textOf(article)
}

// main returns the element with the main content, or nil if none stands out. It ignores cookie notices and dialogs.
func (p *page) main() *html.Node {
	if p.looked {
		return p.article
	}
	p.looked = true
	defer p.detachNotices()()
	article, err := readability.FromDocument(p.root, nil) // works on a copy
	if err != nil || article.Node == nil {
		return nil
	}
	if n := len(textOf(article.Node)); n >= shortMain || 4*n >= len(textOf(p.root)) {
		p.article = article.Node
	}
	return p.article
}

// textOf returns the text of an element, white space collapsed.
func textOf(n *html.Node) string {
	var b strings.Builder
	appendText(&b, n)
	return extract.Collapse(b.String(), 0)
}

// detachNotices removes notices from the tree; undo restores them.
func (p *page) detachNotices() (undo func()) {
	type place struct{ parent, notice, next *html.Node }
	var taken []place
	var look func(*html.Node)
	look = func(n *html.Node) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			if isNotice(c) {
				taken = append(taken, place{n, c, next})
				n.RemoveChild(c)
			} else {
				look(c)
			}
			c = next
		}
	}
	look(p.root)
	return func() {
		for i := len(taken) - 1; i >= 0; i-- {
			taken[i].parent.InsertBefore(taken[i].notice, taken[i].next)
		}
	}
}

// isNotice reports whether an element is a dialog or a cookie notice by its role, id or classes. An element that
// contains the main element or an article is not one: many pages have such a class on an outer element.
func isNotice(n *html.Node) bool {
	if n.Type != html.ElementNode || n.Data == "html" || n.Data == "body" {
		return false
	}
	notice := n.Data == "dialog"
	for _, a := range n.Attr {
		switch a.Key {
		case "role":
			notice = notice || a.Val == "dialog" || a.Val == "alertdialog"
		case "id", "class":
			value := strings.ToLower(a.Val)
			for _, word := range [...]string{"cookie", "consent", "gdpr", "privacy-banner", "modal", "dialog"} {
				notice = notice || strings.Contains(value, word)
			}
		}
	}
	return notice && !holdsContent(n)
}

// holdsContent reports whether there is a main element, an article or a first heading in n.
func holdsContent(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && (c.Data == "main" || c.Data == "article" || c.Data == "h1") {
			return true
		}
	}
	return n.Data == "main" || n.Data == "article"
}
