package tree

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// content selects a part of a page, and its form.
type content struct {
	of   string // ofDocument, ofMain or ofPage
	form string // one of contentForms
}

// Parts of a page.
const (
	ofDocument = ""     // that of the document's text: the main content if that is enabled and found, else the page
	ofMain     = "main" // the main content, empty if none is found
	ofPage     = "page"
)

// Forms of content.
const (
	formText     = "text"
	formMarkdown = "markdown"
	formHTML     = "html"
)

func contentForms() []string { return []string{formText, formMarkdown, formHTML} }

const (
	// DefaultContentBytes is the limit of a content whose Pick sets none.
	DefaultContentBytes = 1 << 20
	// maxContents bounds all contents of a page together, since they share one response.
	maxContents = 8 << 20
)

// parseContent parses markdown, main/markdown or page/markdown.
func parseContent(written string) (content, error) {
	of, form, divided := strings.Cut(written, "/")
	if !divided {
		of, form = ofDocument, written
	}
	c := content{strings.TrimSpace(of), strings.TrimSpace(form)}
	switch {
	case divided && c.of != ofMain && c.of != ofPage:
		return c, fmt.Errorf("has %q before the /: write main or page, or nothing for the part that the document's text is taken from", c.of)
	case !slices.Contains(contentForms(), c.form):
		return c, fmt.Errorf("has the unknown form of content %q: write content:%s", c.form, strings.Join(contentForms(), ", content:"))
	}
	return c, nil
}

// content writes the page, or its main content, in a form.
func (p *page) content(what *Pick, c content, to *Picked) error {
	if p.ctx.Err() != nil {
		return errLate
	}
	limit := min(what.Bytes, p.contentLeft)
	if what.Bytes <= 0 {
		limit = min(DefaultContentBytes, p.contentLeft)
	}
	root := p.part(c.of)
	if root == nil {
		return nil
	}
	value, cut, err := inForm(p.ctx, root, c.form, p.base, limit)
	if err != nil {
		return err
	}
	if to.Cut = cut; value != "" {
		to.Values = []string{value}
		p.contentLeft -= len(value)
	}
	return nil
}

// part returns a part of the page, nil if it has no main content.
func (p *page) part(of string) *html.Node {
	if of == ofMain || of == ofDocument && p.mainWanted {
		if article := p.main(); article != nil || of == ofMain {
			return article
		}
	}
	return p.root
}

// maxTries is the number of attempts with a shorter part of a page if the result is too long.
const maxTries = 5

// inForm writes the content of a node in a form of at most limit bytes. Escapes may lengthen the result; cutting it
// could leave constructs open, such as code, so a shorter part of the page is written then.
func inForm(ctx context.Context, root *html.Node, form string, base *url.URL, limit int) (value string, cut bool, err error) {
	room := limit
	for range maxTries {
		if value, cut, err = write(root, &cleaner{form: form, base: base, left: room}); err != nil {
			return "", false, err
		}
		if ctx.Err() != nil {
			return "", false, errLate
		}
		if len(value) <= limit {
			return strings.TrimSpace(value), cut, nil
		}
		room = room * limit / len(value) * 9 / 10
	}
	return "", true, nil
}

// write writes the content of a node in the cleaner's form.
func write(root *html.Node, clean *cleaner) (value string, cut bool, err error) {
	top := &html.Node{Type: html.DocumentNode}
	if clean.form == formMarkdown {
		clean.shapes = map[*html.Node]*shape{}
		clean.measure(root, new(shape))
	}
	clean.inside(top, root)
	var b strings.Builder
	switch clean.form {
	case formMarkdown:
		value, err = markdown(top)
		return value, clean.cut, err
	case formText:
		writeLines(&b, top)
	default:
		err = html.Render(&b, top)
	}
	return b.String(), clean.cut, err
}

// CutAtLine returns the beginning of a text of more than limit bytes, cut at the end of a line if there is one in its
// last half.
func CutAtLine(s string, limit int) string {
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	s = s[:limit]
	if end := strings.LastIndexByte(s, '\n'); end > limit/2 {
		s = s[:end]
	}
	return s
}
