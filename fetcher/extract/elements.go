package extract

import "github.com/sextant-crawler/sextant/fetcher/extract/markup"

// hasReadAttributes says that an element has attributes of interest besides hidden,
// which all may have.
func hasReadAttributes(a markup.Tag) bool {
	switch a {
	case markup.A, markup.Area, markup.Base, markup.Frame, markup.HTML, markup.Iframe, markup.Input, markup.Link, markup.Meta:
		return true
	}
	return false
}

// impliesEnd says that the start of an element ends the open one, whose end tag
// may be left out (WHATWG HTML section 13.1.2.4).
func impliesEnd(start, open markup.Tag) bool {
	switch open {
	case markup.P:
		return start.IsBlock() || start == markup.Hr
	case markup.Li:
		return start == markup.Li
	case markup.Dd, markup.Dt:
		return start == markup.Dd || start == markup.Dt
	case markup.Option:
		return start == markup.Option || start == markup.Optgroup
	case markup.Td, markup.Th:
		return start == markup.Td || start == markup.Th || impliesEnd(start, markup.Tr)
	case markup.Tr:
		return start == markup.Tr || start == markup.Thead || start == markup.Tbody || start == markup.Tfoot
	}
	return false
}

// hidden follows an element whose content is not shown, through everything that
// is open inside of it. Wrong nesting ends it rather early than never: what is
// shown to a reader must not be lost for one forgotten end tag.
type hidden struct {
	open  []markup.Tag // the element itself first
	inert bool         // a template: its content is no part of the page
}

// maxHidden is how deep elements inside of a hidden one are followed.
const maxHidden = 512

func (h *hidden) active() bool { return len(h.open) > 0 }

func (h *hidden) begin(a markup.Tag, inert bool) { h.open, h.inert = append(h.open[:0], a), inert }

func (h *hidden) start(a markup.Tag) {
	for len(h.open) > 0 && impliesEnd(a, h.open[len(h.open)-1]) {
		h.open = h.open[:len(h.open)-1]
	}
	if len(h.open) > 0 && len(h.open) < maxHidden && !a.IsVoid() {
		h.open = append(h.open, a)
	}
}

func (h *hidden) end(a markup.Tag) {
	for i := len(h.open) - 1; i >= 0; i-- {
		if h.open[i] == a {
			h.open = h.open[:i]
			return
		}
	}
	if a.IsBlock() && a != markup.P && !h.inert {
		h.open = h.open[:0] // the end of an element around the hidden one
	}
}
