package console

import "net/http"

// confirmation asks the user before an irreversible action.
type confirmation struct {
	Head  string
	Words []string // what the action does
	// URLs are some of the affected ones, More the number of others.
	URLs []string
	More int
	// Action is the path that receives the form with Fields, and "sure".
	Action, Button string
	Fields         []field
	Forever        bool // offers "forever", which keeps the removed URLs out of the index
	Back           string
}

// field is a hidden field of a form.
type field struct{ Name, Value string }

// urlsAsked is the most URLs that a question names.
const urlsAsked = 20

// confirm shows the question.
func confirm(v *visit, c *confirmation) error {
	if n := len(c.URLs); n > urlsAsked {
		c.URLs, c.More = c.URLs[:urlsAsked], n-urlsAsked
	}
	v.console.show(v, http.StatusOK, "confirm", c.Head, c)
	return nil
}
