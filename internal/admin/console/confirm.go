package console

import "net/http"

// confirmation asks before something is done that cannot be taken back.
type confirmation struct {
	Head  string
	Words []string // what it does
	// URLs are some of what it is done to, More how many others.
	URLs []string
	More int
	// Action takes the form with Fields, and "sure".
	Action, Button string
	Fields         []field
	Forever        bool // offers "forever", which keeps what is removed out of the index
	Back           string
}

// field is a hidden one of a form.
type field struct{ Name, Value string }

// urlsAsked are how many URLs a question names.
const urlsAsked = 20

// confirm asks.
func confirm(v *visit, c *confirmation) error {
	if n := len(c.URLs); n > urlsAsked {
		c.URLs, c.More = c.URLs[:urlsAsked], n-urlsAsked
	}
	v.console.show(v, http.StatusOK, "confirm", c.Head, c)
	return nil
}
