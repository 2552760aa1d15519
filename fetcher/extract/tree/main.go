package tree

import (
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// mainText is the text of a page's main content, without menus, side columns and the like; "" if
// there is none that stands out.
func (p *page) mainText() string {
	article := p.main()
	if article == nil {
		return ""
	}
	var b strings.Builder
	appendText(&b, article)
	return extract.Collapse(b.String(), 0)
}

// main is the element with the main content, nil if there is none that stands out.
func (p *page) main() *html.Node {
	if !p.looked {
		p.looked = true
		if article, err := readability.FromDocument(p.root, nil); err == nil { // of a copy
			p.article = article.Node
		}
	}
	return p.article
}
