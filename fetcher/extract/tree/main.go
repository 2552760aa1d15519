package tree

import (
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// mainText is the text of a page's main content, without menus, side columns and the like; "" if
// there is none that stands out.
func mainText(root *html.Node) string {
	article, err := readability.FromDocument(root, nil)
	if err != nil || article.Node == nil {
		return ""
	}
	var b strings.Builder
	appendText(&b, article.Node)
	return extract.Collapse(b.String(), 0)
}
