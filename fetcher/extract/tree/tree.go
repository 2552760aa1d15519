// Package tree parses a page into a tree and finds values in it: by selectors of CSS and XPath, its JSON-LD, its main
// content, and its content as Markdown and similar formats.
//
// The page decides how large and deep its tree is, and how long a selector takes. So Read runs in the processes of
// package documents, with limits of time and memory, never in the crawler's own. The package starts no goroutine and
// has no lock.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/push"
)

// ErrTooDeep reports that elements are nested too deeply.
var ErrTooDeep = errors.New("its elements are nested deeper than 512")

// Order specifies what to find in a page.
type Order struct {
	// ContentType is that of the response, for the charset.
	ContentType string `json:",omitempty"`
	// Base is the base of relative addresses in a content.
	Base  string `json:",omitempty"`
	Picks []Pick `json:",omitempty"`
	// Main requests the text of the page's main content.
	Main bool `json:",omitempty"`
	// ChunkWords requests chunks of at most so many words.
	ChunkWords int `json:",omitempty"`
}

// Pick is one value to find.
type Pick struct {
	// Select is a selector that needs a tree, in the syntax of Parse.
	Select string
	// Attribute of the elements whose value is taken in place of their text; "" for the text.
	Attribute string `json:",omitempty"`
	// Multiple takes all values, not only the first.
	Multiple bool `json:",omitempty"`
	// Bytes is the limit of a content; 0: DefaultContentBytes.
	Bytes int `json:",omitempty"`
}

// Found is the result of an Order, one Picked for each pick.
type Found struct {
	Picked []Picked `json:",omitempty"`
	// Main is the text of the main content, "" if none was found.
	Main string `json:",omitempty"`
	// Chunks are those of the page, or of its main content. ChunksCut is set if there are more.
	Chunks    []push.Chunk `json:",omitempty"`
	ChunksCut bool         `json:",omitempty"`
}

// Picked are the values of one pick.
type Picked struct {
	Values []string `json:",omitempty"`
	// Failed is the reason why the search failed or was not finished: Late, or an error text.
	Failed string `json:",omitempty"`
	// Cut is set if a content was longer than its limit, or there may be more values than maxValues.
	Cut bool `json:",omitempty"`
}

// Limits of the values of one page.
const (
	maxValues     = 100      // of one pick
	maxValueBytes = 16 << 10 // of one value
)

// Read executes an order. If ctx ends, it returns the results so far.
func Read(ctx context.Context, o *Order, body []byte) (Found, error) {
	text, err := extract.Decode(body, o.ContentType)
	if err != nil {
		return Found{}, err
	}
	root, err := parse(text)
	if err != nil {
		return Found{}, err
	}
	page := page{ctx: ctx, root: root, mainWanted: o.Main, contentLeft: maxContents}
	if page.base, err = url.Parse(o.Base); err != nil {
		return Found{}, err
	}
	var found Found
	for _, p := range o.Picks {
		found.Picked = append(found.Picked, page.pick(p))
	}
	if o.Main {
		found.Main = page.mainText()
	}
	if o.ChunkWords > 0 {
		found.Chunks, found.ChunksCut = page.chunks(o.ChunkWords)
	}
	return found, nil
}

// parse parses a page; the parser refuses too deep nesting.
func parse(text []byte) (*html.Node, error) {
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil && strings.Contains(err.Error(), "512") {
		return nil, ErrTooDeep
	}
	return root, err
}

// page is a tree that is searched.
type page struct {
	ctx  context.Context
	root *html.Node
	base *url.URL
	data []any // of JSON-LD, once read
	read bool

	mainWanted bool       // the document's text is the main content
	article    *html.Node // the main content, once searched for
	looked     bool

	contentLeft int // bytes left for contents
}

// Late is the failure of a pick when time was over.
const Late = "too-slow"

var errLate = errors.New(Late)

// pick executes one pick. A selector that panics finds nothing.
func (p *page) pick(what Pick) (found Picked) {
	taken := values{multiple: what.Multiple}
	defer func() {
		if len(taken.list) > 0 {
			found.Values, found.Cut = taken.list, len(taken.list) >= maxValues
		}
		if crash := recover(); crash != nil {
			found.Failed = fmt.Sprint(crash)
		}
	}()
	s, err := Parse(what.Select)
	if err == nil {
		switch s.Kind {
		case CSS:
			err = p.css(s, what.Attribute, &taken)
		case XPath:
			err = p.xpath(s, what.Attribute, &taken)
		case JSONLD:
			p.jsonld(s, &taken)
		case Content:
			err = p.content(&what, s.content, &found)
		case Meta, Header:
			err = errors.New("it does not need a tree")
		}
	}
	if err != nil {
		found.Failed = err.Error()
	}
	return found
}

// css adds the matching elements, in page order.
func (p *page) css(s Selector, attribute string, to *values) error {
	for n := range p.root.Descendants() {
		if p.ctx.Err() != nil {
			return errLate
		}
		if n.Type == html.ElementNode && s.css.Match(n) && to.add(valueOf(n, attribute)) {
			break
		}
	}
	return nil
}

// xpath adds the nodes of an expression, or its single value.
func (p *page) xpath(s Selector, attribute string, to *values) error {
	switch result := s.xpath.Evaluate(&navigator{at: p.root, attr: -1}).(type) {
	case xpathNodes:
		for result.MoveNext() {
			if p.ctx.Err() != nil {
				return errLate
			}
			at, ok := result.Current().(*navigator)
			if !ok {
				continue
			}
			value := at.Value()
			if at.attr < 0 && at.at.Type == html.ElementNode {
				value = valueOf(at.at, attribute)
			}
			if to.add(value) {
				break
			}
		}
	default:
		to.add(fmt.Sprint(result))
	}
	return nil
}

// values are the distinct non-empty values of one pick.
type values struct {
	list     []string
	multiple bool
}

// add adds a value, and reports whether no more are needed.
func (v *values) add(value string) (enough bool) {
	value = extract.Collapse(value, maxValueBytes)
	if value != "" && !slices.Contains(v.list, value) {
		v.list = append(v.list, value)
	}
	return len(v.list) >= maxValues || !v.multiple && len(v.list) > 0
}
