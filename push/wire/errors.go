package wire

import (
	"fmt"
	"net/http"
	"strconv"
)

// StatusError is an unsuccessful response.
type StatusError struct {
	Name   string // of the request
	Status int
	Body   []byte // the part that was read
	Words  string // the server's message, on one line
}

// Error includes advice for some statuses.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("%s: the server responded with %d %s", e.Name, e.Status, http.StatusText(e.Status))
	switch {
	case e.Status >= 300 && e.Status < 400:
		s += ", a redirect: write the address that it leads to as url"
	case e.Status == http.StatusUnauthorized:
		s += ": check the user and password, or the key; nothing is lost, and the request is retried"
	case e.Status == http.StatusForbidden:
		s += ": the user or the key lacks permission for this; nothing is lost, and the request is retried"
	case e.Status == http.StatusNotFound:
		s += ": check url and the names in it"
	}
	if e.Words != "" {
		s += ": " + strconv.Quote(e.Words)
	}
	return s
}

// OfContent reports whether the server may have refused the content of the request, so that parts of it could still be
// accepted.
func (e *StatusError) OfContent() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// Unfit is an error in the content of a request: parts of it may be accepted in smaller requests. Words is the server's
// message, for the refused item.
type Unfit struct {
	Words string
	Err   error
}

func (u *Unfit) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u *Unfit) Unwrap() error { return u.Err }

// Unfit converts e to an *Unfit if the content of the request caused it, otherwise it returns e. words is the server's
// message if it is better than e.Words.
func (e *StatusError) Unfit(words string) error {
	if !e.OfContent() {
		return e
	}
	if words == "" {
		words = e.Words
	}
	if words == "" {
		words = e.Error()
	}
	return &Unfit{Words: words, Err: e}
}
