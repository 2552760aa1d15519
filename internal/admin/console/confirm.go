package console

import "net/http"

// confirmation asks the user before an irreversible action. A template of its own words it: what embeds this is its
// data.
type confirmation struct {
	// URLs are some of the affected ones, More the number of others.
	URLs []string
	More int
	// Action is the path that receives the form with Fields, and "sure".
	Action string
	Fields []field
	Back   string
}

// field is a hidden field of a form.
type field struct{ Name, Value string }

// urlsAsked is the most URLs that a question names.
const urlsAsked = 20

// naming returns the confirmation with some of the URLs named.
func (c confirmation) naming(urls []string) confirmation {
	n := min(len(urls), urlsAsked)
	c.URLs, c.More = urls[:n], len(urls)-n
	return c
}

// confirm shows the question of a page's template.
func confirm(v *visit, data any) error {
	v.console.show(v, http.StatusOK, v.page.template, v.page.title, data)
	return nil
}
