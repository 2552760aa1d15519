package auth

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Limits on a page's forms.
const (
	maxForms    = 100
	maxControls = 1000 // of one form
)

// page is the part of an HTML page that a log-in needs.
type page struct {
	base     string // href of the base element
	forms    []*form
	encoding encoding.Encoding
}

// form is a form of a page. As in the HTML standard, controls belong to forms by the order of tags, so that a form torn
// apart by a table keeps its fields.
type form struct {
	name, id, action, method, enctype string
	controls                          []control
	tooMany                           bool
}

// control is an input, select, textarea or button.
type control struct {
	name, value string
	kind        string // type of an input; "select", "textarea", "submit"
	checked     bool
	disabled    bool
}

func (f *form) hasPassword() bool { return f.has(func(c control) bool { return c.kind == "password" }) }

func (f *form) hasField(name string) bool {
	return f.has(func(c control) bool { return c.name == name })
}

func (f *form) has(is func(control) bool) bool {
	return slices.ContainsFunc(f.controls, is)
}

// reader walks over the tags of a page.
type reader struct {
	page
	tokens  *html.Tokenizer
	current *form            // the form pointer of the HTML standard
	ids     map[string]*form // the first form of each id
	orphans []orphan         // controls that name their form by its id
	choice  *choice          // the open select element
}

// orphan is a control whose form may follow.
type orphan struct {
	form string
	control
}

// choice is a select element.
type choice struct {
	tag   html.Token
	value string
	any   bool // there was an option
	text  bool // the value is the text that follows
}

// decoded returns a page's source in UTF-8, and its original encoding.
func decoded(body []byte, contentType string) ([]byte, encoding.Encoding) {
	e, _, _ := charset.DetermineEncoding(body, contentType)
	if plain, err := e.NewDecoder().Bytes(body); err == nil {
		body = plain
	}
	return body, e
}

// shows reports whether text occurs in the source of a page. It decodes only for non-ASCII text: most pages are UTF-8,
// or extend ASCII.
func shows(body []byte, contentType, text string) bool {
	if bytes.Contains(body, []byte(text)) {
		return true
	}
	if strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return false
	}
	plain, _ := decoded(body, contentType)
	return bytes.Contains(plain, []byte(text))
}

// readPage reads the forms of body, which may be any bytes.
func readPage(body []byte, contentType string) *page {
	body, e := decoded(body, contentType)
	r := &reader{tokens: html.NewTokenizer(bytes.NewReader(body)), ids: map[string]*form{}}
	r.encoding = e
	for {
		switch r.tokens.Next() {
		case html.ErrorToken:
			r.endSelect()
			r.adopt()
			return &r.page
		case html.StartTagToken, html.SelfClosingTagToken:
			r.start()
		case html.EndTagToken:
			switch name, _ := r.tokens.TagName(); string(name) {
			case "form":
				r.endSelect()
				r.current = nil
			case "select":
				r.endSelect()
			}
		case html.TextToken:
			if c := r.choice; c != nil && c.text {
				c.value, c.text = strings.Join(strings.Fields(string(r.tokens.Text())), " "), false
			}
		}
	}
}

// start reads a start tag.
func (r *reader) start() {
	name, more := r.tokens.TagName()
	t := html.Token{Data: string(name)}
	switch t.Data {
	case "base", "form", "option":
	case "input", "button", "textarea", "select":
		r.endSelect()
	case "noscript": // its content applies to a crawler
		r.tokens.NextIsNotRawText()
		return
	default:
		return
	}
	for more {
		var key, value []byte
		key, value, more = r.tokens.TagAttr()
		t.Attr = append(t.Attr, html.Attribute{Key: string(key), Val: string(value)})
	}
	kind := strings.ToLower(attr(t, "type"))
	switch t.Data {
	case "base":
		if r.base == "" {
			r.base = attr(t, "href")
		}
	case "form":
		r.open(t)
	case "input":
		r.add(t, control{value: attr(t, "value"), kind: kind})
	case "button":
		if kind == "" || kind == "submit" {
			r.add(t, control{value: attr(t, "value"), kind: "submit"})
		}
	case "textarea":
		value := ""
		if r.tokens.Next() == html.TextToken {
			value = strings.TrimPrefix(string(r.tokens.Text()), "\n")
		}
		r.add(t, control{value: value, kind: "textarea"})
	case "select":
		r.choice = &choice{tag: t}
	case "option":
		if c := r.choice; c != nil && (!c.any || has(t, "selected")) {
			c.any, c.value, c.text = true, attr(t, "value"), !has(t, "value")
		}
	}
}

// open begins a form; forms are not nested.
func (r *reader) open(t html.Token) {
	if r.current != nil || len(r.forms) >= maxForms {
		return
	}
	f := &form{
		name: attr(t, "name"), id: attr(t, "id"), action: strings.TrimSpace(attr(t, "action")),
		method: strings.ToLower(attr(t, "method")), enctype: strings.ToLower(attr(t, "enctype")),
	}
	r.current, r.forms = f, append(r.forms, f)
	if f.id != "" && r.ids[f.id] == nil {
		r.ids[f.id] = f
	}
}

func (r *reader) endSelect() {
	if c := r.choice; c != nil {
		r.choice = nil
		if c.any {
			r.add(c.tag, control{value: c.value, kind: "select"})
		}
	}
}

// add adds a control to its form: the one it names, or the open one.
func (r *reader) add(t html.Token, c control) {
	c.name, c.checked, c.disabled = attr(t, "name"), has(t, "checked"), has(t, "disabled")
	if (c.kind == "checkbox" || c.kind == "radio") && !has(t, "value") {
		c.value = "on"
	}
	switch id := attr(t, "form"); {
	case id != "" && len(r.orphans) < maxControls:
		r.orphans = append(r.orphans, orphan{id, c})
	case id == "" && r.current != nil:
		r.current.add(c)
	}
}

func (r *reader) adopt() {
	for _, o := range r.orphans {
		if f := r.ids[o.form]; f != nil {
			f.add(o.control)
		}
	}
}

func (f *form) add(c control) {
	if len(f.controls) >= maxControls {
		f.tooMany = true
		return
	}
	f.controls = append(f.controls, c)
}

func attr(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(t html.Token, name string) bool {
	return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == name })
}
