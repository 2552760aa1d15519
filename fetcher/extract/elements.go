package extract

import (
	"bytes"

	"golang.org/x/net/html/atom"
)

// separates says that an element's tags stand between words: all that the
// suggested style sheet of WHATWG HTML section 15.3 does not display inline, and
// what is replaced by something else.
func separates(a atom.Atom) bool {
	switch a {
	case atom.Br, atom.Hr, atom.Wbr,
		atom.Img, atom.Iframe, atom.Object, atom.Embed, atom.Video, atom.Audio, atom.Canvas, atom.Svg, atom.Math,
		atom.Input, atom.Button, atom.Select, atom.Textarea, atom.Meter, atom.Progress,
		atom.Option, atom.Optgroup, atom.Title, atom.Head:
		return a != atom.Wbr
	}
	return isBlock(a)
}

// isBlock says that an element is a block or a part of a table; the start of most
// of them ends a paragraph.
func isBlock(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Center, atom.Dd, atom.Details,
		atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.Frame, atom.Frameset, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header,
		atom.Hgroup, atom.Html, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P,
		atom.Plaintext, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Ul, atom.Xmp,
		atom.Table, atom.Caption, atom.Colgroup, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
		return true
	}
	return false
}

// isVoid says that an element has no content and no end tag.
func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input, atom.Link,
		atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

// inHead says that an element may stand in the head.
func inHead(a atom.Atom) bool {
	switch a {
	case atom.Html, atom.Head, atom.Title, atom.Base, atom.Link, atom.Meta, atom.Style, atom.Script, atom.Noscript,
		atom.Template:
		return true
	}
	return false
}

// hasReadAttributes says that an element has attributes of interest besides hidden,
// which all may have. Reading attributes is what costs most.
func hasReadAttributes(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Area, atom.Base, atom.Frame, atom.Html, atom.Iframe, atom.Link, atom.Meta:
		return true
	}
	return false
}

// mayHide says that the word "hidden" is somewhere in a tag.
func mayHide(tag []byte) bool {
	word := []byte("hidden")
	for i := 0; i+len(word) <= len(tag); i++ {
		if tag[i]|0x20 == word[0] && bytes.EqualFold(tag[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// impliesEnd says that the start of an element ends the open one, whose end tag
// may be left out (WHATWG HTML section 13.1.2.4).
func impliesEnd(start, open atom.Atom) bool {
	switch open {
	case atom.P:
		return isBlock(start) || start == atom.Hr
	case atom.Li:
		return start == atom.Li
	case atom.Dd, atom.Dt:
		return start == atom.Dd || start == atom.Dt
	case atom.Option:
		return start == atom.Option || start == atom.Optgroup
	case atom.Td, atom.Th:
		return start == atom.Td || start == atom.Th || impliesEnd(start, atom.Tr)
	case atom.Tr:
		return start == atom.Tr || start == atom.Thead || start == atom.Tbody || start == atom.Tfoot
	}
	return false
}

// hidden follows an element whose content is not shown, through everything that
// is open inside of it. Wrong nesting ends it rather early than never: what is
// shown to a reader must not be lost for one forgotten end tag.
type hidden struct {
	open  []atom.Atom // the element itself first
	inert bool        // a template: its content is no part of the page
}

// maxHidden is how deep elements inside of a hidden one are followed.
const maxHidden = 512

func (h *hidden) active() bool { return len(h.open) > 0 }

func (h *hidden) begin(a atom.Atom, inert bool) { h.open, h.inert = append(h.open[:0], a), inert }

func (h *hidden) start(a atom.Atom) {
	for len(h.open) > 0 && impliesEnd(a, h.open[len(h.open)-1]) {
		h.open = h.open[:len(h.open)-1]
	}
	if len(h.open) > 0 && len(h.open) < maxHidden && !isVoid(a) {
		h.open = append(h.open, a)
	}
}

func (h *hidden) end(a atom.Atom) {
	for i := len(h.open) - 1; i >= 0; i-- {
		if h.open[i] == a {
			h.open = h.open[:i]
			return
		}
	}
	if isBlock(a) && a != atom.P && !h.inert {
		h.open = h.open[:0] // the end of an element around the hidden one
	}
}
