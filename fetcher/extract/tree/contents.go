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

// content says which content of a page is taken, and in which form.
type content struct {
	of   string // ofDocument, ofMain or ofPage
	form string // one of contentForms
}

// What a content is of.
const (
	ofDocument = ""     // as the document's text: of the main content where that is taken and found, else of the page
	ofMain     = "main" // the main content, nothing if none is found
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
	// DefaultContentBytes bounds a content whose Pick sets no limit.
	DefaultContentBytes = 1 << 20
	// maxContents bounds all contents of a page together: they are answered at once.
	maxContents = 8 << 20
)

// parseContent reads markdown, main/markdown or page/markdown.
func parseContent(written string) (content, error) {
	of, form, divided := strings.Cut(written, "/")
	if !divided {
		of, form = ofDocument, written
	}
	c := content{strings.TrimSpace(of), strings.TrimSpace(form)}
	switch {
	case divided && c.of != ofMain && c.of != ofPage:
		return c, fmt.Errorf("has %q before the /: write main or page, or nothing for what the document's text is of", c.of)
	case !slices.Contains(contentForms(), c.form):
		return c, fmt.Errorf("has no form of content %q: write content:%s", c.form, strings.Join(contentForms(), ", content:"))
	}
	return c, nil
}

// content puts the page, or its main content, into a form.
func (p *page) content(what *Pick, c content, to *Picked) error {
	if p.ctx.Err() != nil {
		return errLate
	}
	limit := min(what.Bytes, p.contentLeft)
	if what.Bytes <= 0 {
		limit = min(DefaultContentBytes, p.contentLeft)
	}
	root := p.root
	if c.of == ofMain || c.of == ofDocument && p.mainWanted {
		if article := p.main(); article != nil || c.of == ofMain {
			root = article
		}
	}
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

// maxTries is how often a shorter part of a page is put into a form that came out too long.
const maxTries = 5

// inForm puts what is inside of a node into a form of at most limit bytes. What is written of the tree may be longer than
// that, by escapes; to cut it would open what it closes, such as code, so less of the page is written then.
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

// write writes what is inside of a node in the cleaner's form.
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

// CutAtLine returns the beginning of a text of more than limit bytes, up to the end of a line if there is one in its last half.
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
