// Package tree makes a tree of a page and looks for values in it: what selectors of CSS and XPath
// choose, what its JSON-LD says, its main content, and its content as Markdown and the like.
//
// A stranger's page decides how large and how deep its tree is, and how long a selector looks
// through it. So Read runs in the processes of package documents, with limits of time and memory,
// never in the crawler's own. The package starts no goroutine and has no lock.
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
)

// ErrTooDeep says that elements are nested deeper than a tree may be.
var ErrTooDeep = errors.New("its elements are nested deeper than 512")

// Order says what to look for in a page.
type Order struct {
	// ContentType is that of the answer, of which the charset counts.
	ContentType string `json:",omitempty"`
	// Base is what addresses in a content are relative to.
	Base  string `json:",omitempty"`
	Picks []Pick `json:",omitempty"`
	// Main asks for the text of the page's main content.
	Main bool `json:",omitempty"`
}

// Pick is one thing to look for.
type Pick struct {
	// Select is a selector that needs a tree, as Parse takes it.
	Select string
	// Attribute of the elements whose value is taken instead of their text; "" for the text.
	Attribute string `json:",omitempty"`
	// Multiple takes all values, not only the first.
	Multiple bool `json:",omitempty"`
	// Bytes is how long a content may be: DefaultContentBytes.
	Bytes int `json:",omitempty"`
}

// Found is what was found, by the order's picks.
type Found struct {
	Picked []Picked `json:",omitempty"`
	// Main is the text of the main content, "" if none was found.
	Main string `json:",omitempty"`
}

// Picked are the values of one pick.
type Picked struct {
	Values []string `json:",omitempty"`
	// Failed says why it was not looked for, or not to the end: Late, or words of its own.
	Failed string `json:",omitempty"`
	// Cut says that a content was longer than it may be.
	Cut bool `json:",omitempty"`
}

// Limits of what is taken of one page.
const (
	maxValues     = 100      // of one pick
	maxValueBytes = 16 << 10 // of one value
)

// Read looks for what is ordered. Where ctx ends, what was found until then is all.
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
	return found, nil
}

// parse makes the tree; the parser refuses what is nested too deep.
func parse(text []byte) (*html.Node, error) {
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil && strings.Contains(err.Error(), "512") {
		return nil, ErrTooDeep
	}
	return root, err
}

// page is a tree that is looked through.
type page struct {
	ctx  context.Context
	root *html.Node
	base *url.URL
	data []any // of JSON-LD, once it was read
	read bool

	mainWanted bool       // the document's text is that of the main content
	article    *html.Node // the main content, once it was looked for
	looked     bool

	contentLeft int // bytes of further contents
}

// Late is the failure of a pick that there was no time for.
const Late = "too-slow"

var errLate = errors.New(Late)

// pick looks for one thing. A selector that panics finds nothing.
func (p *page) pick(what Pick) (found Picked) {
	taken := values{multiple: what.Multiple}
	defer func() {
		if len(taken.list) > 0 {
			found.Values = taken.list
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
			err = errors.New("it needs no tree")
		}
	}
	if err != nil {
		found.Failed = err.Error()
	}
	return found
}

// css takes the elements that match, in the order of the page.
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

// xpath takes the nodes that an expression gives, or its one value.
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

// values are those of one pick, each once, without those that are empty.
type values struct {
	list     []string
	multiple bool
}

// add takes a value, and reports whether no more are wanted.
func (v *values) add(value string) (enough bool) {
	value = extract.Collapse(value, maxValueBytes)
	if value != "" && !slices.Contains(v.list, value) {
		v.list = append(v.list, value)
	}
	return len(v.list) >= maxValues || !v.multiple && len(v.list) > 0
}
