package extract

import "github.com/sextant-crawler/sextant/fetcher/extract/markup"

// maxDepth is the depth to which elements are tracked; deeper ones are only counted.
const maxDepth = 512

// openElements holds the elements around a position, as far as they matter for skipped regions: inside a region all,
// outside only blocks. Each operation takes constant time at any depth, except for leaving entered elements.
type openElements struct {
	n, beyond int // of stack; deeper than it
	stack     [maxDepth + 1]openElement
	// innermost is the index in stack of the innermost of each element, 0 for none.
	innermost [markup.Tags]uint16
	// scope and special are the innermost elements that end tags, and implied ends of list entries, do not cross.
	scope, special uint16
	// The outermost of each kind of region, 0 if there is none.
	hidden, removed, inert uint16
}

// openElement is an open element with the state of innermost before it.
type openElement struct {
	tag                      markup.Tag
	before, scope, specialAt uint16
}

// inRegion reports whether the position is in a skipped region.
func (o *openElements) inRegion() bool { return o.hidden|o.removed|o.inert != 0 }

// reset begins a page.
func (o *openElements) reset() {
	o.leave(1)
	o.beyond = 0
}

// enter enters an element, and returns its index; 0 if it is too deep.
func (o *openElements) enter(tag markup.Tag) uint16 {
	if o.n == maxDepth {
		o.beyond++
		return 0
	}
	o.n++
	at := uint16(o.n)
	o.stack[at] = openElement{tag: tag, before: o.innermost[tag], scope: o.scope, specialAt: o.special}
	o.innermost[tag] = at
	switch nesting[tag] {
	case bounds:
		o.scope, o.special = at, at
	case special:
		o.special = at
	}
	return at
}

// leave leaves the element at an index and all inside it.
func (o *openElements) leave(at uint16) {
	if at == 0 {
		return
	}
	for o.n >= int(at) {
		e := &o.stack[o.n]
		o.innermost[e.tag], o.scope, o.special = e.before, e.scope, e.specialAt
		o.n--
	}
	o.beyond = 0
	o.hidden, o.removed, o.inert = within(o.hidden, at), within(o.removed, at), within(o.inert, at)
}

// within returns a region that is still open after the element at an index was left, else 0.
func within(region, at uint16) uint16 {
	if region >= at {
		return 0
	}
	return region
}

// ended returns the index of the element that an end tag ends, 0 for none.
func (o *openElements) ended(tag markup.Tag) uint16 {
	if o.beyond > 0 {
		o.beyond--
		return 0
	}
	floor := o.scope
	switch {
	case tag == markup.Template:
		floor = 0
	case tag == markup.P:
		floor = max(floor, o.innermost[markup.Button])
	case isTablePart(tag):
		floor = max(o.innermost[markup.Table], o.innermost[markup.Template])
	}
	if at := o.innermost[tag]; at > floor || at == floor && nesting[tag] == bounds {
		return at
	}
	return 0
}

// implied returns the index of the outermost element that ends where another begins, 0 for none: end tags may be
// omitted (WHATWG HTML section 13.1.2.4), and some elements are not nested.
func (o *openElements) implied(start markup.Tag) uint16 {
	const none = markup.Other
	if o.beyond > 0 {
		return 0
	}
	switch start {
	case markup.Td, markup.Th:
		return o.outermost(o.table(), markup.Td, markup.Th)
	case markup.Tr:
		return o.outermost(o.table(), markup.Tr, markup.Td, markup.Th)
	case markup.Thead, markup.Tbody, markup.Tfoot, markup.Caption, markup.Colgroup:
		return o.outermost(o.table(), markup.Thead, markup.Tbody, markup.Tfoot, markup.Caption, markup.Colgroup, markup.Tr, markup.Td, markup.Th)
	case markup.Option:
		return o.outermost(o.scope, markup.Option)
	case markup.Optgroup:
		return o.outermost(o.scope, markup.Optgroup, markup.Option)
	case markup.A, markup.Button, markup.Nobr:
		return o.outermost(o.scope, start)
	}
	entry, other := none, none
	switch start {
	case markup.Li:
		entry, other = markup.Li, markup.Li
	case markup.Dd, markup.Dt:
		entry, other = markup.Dd, markup.Dt
	case markup.Hr:
	default:
		if !start.Is(markup.Block) {
			return 0
		}
	}
	if entry != none {
		if at := o.outermost(max(o.special, 1)-1, entry, other); at != 0 {
			return at
		}
	}
	return o.outermost(max(o.scope, o.innermost[markup.Button]), markup.P)
}

// table returns the index that implied ends of a table's parts do not cross.
func (o *openElements) table() uint16 {
	return max(o.innermost[markup.Table], o.innermost[markup.Template])
}

// outermost returns the index of the outermost of some elements inside floor.
func (o *openElements) outermost(floor uint16, tags ...markup.Tag) uint16 {
	var found uint16
	for _, tag := range tags {
		if at := o.innermost[tag]; at > floor && (found == 0 || at < found) {
			found = at
		}
	}
	return found
}

func isTablePart(tag markup.Tag) bool {
	switch tag {
	case markup.Table, markup.Caption, markup.Colgroup, markup.Thead, markup.Tbody, markup.Tfoot, markup.Tr, markup.Td, markup.Th:
		return true
	}
	return false
}

// How elements nest.
const (
	inline   = iota
	ordinary // also tracked outside of regions
	special  // implied ends of list entries do not cross it
	bounds   // nor do end tags ("scope" in WHATWG HTML section 13.2.4.2)
)

// nesting is constant. The page itself does not count as an element.
var nesting = func() (t [markup.Tags]uint8) {
	for tag := range markup.Tags {
		if tag.Is(markup.Block) && !tag.Is(markup.Void) {
			t[tag] = special
		}
	}
	for _, tag := range [...]markup.Tag{markup.Address, markup.Div, markup.P} {
		t[tag] = ordinary
	}
	t[markup.Button], t[markup.Select] = special, special
	for _, tag := range [...]markup.Tag{
		markup.Applet, markup.Caption, markup.Desc, markup.ForeignObject, markup.Marquee, markup.Object, markup.Table, markup.Td, markup.Template, markup.Th,
	} {
		t[tag] = bounds
	}
	for _, tag := range [...]markup.Tag{markup.HTML, markup.Body, markup.Frameset} {
		t[tag] = inline
	}
	return t
}()

// simple is constant: elements whose start tags are irrelevant, unless they have relevant attributes, and that do not
// occur in a head.
var simple = func() (t [markup.Tags]bool) {
	for _, tag := range [...]markup.Tag{
		markup.Other, markup.B, markup.Big, markup.Code, markup.Em, markup.I, markup.Small, markup.Span, markup.Strong, markup.Sub, markup.Sup, markup.Tt,
		markup.U, markup.Var,
	} {
		t[tag] = true
	}
	return t
}()
