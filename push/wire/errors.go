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
	Body   []byte // as far as it was read
	Words  string // the server's, on one line
}

// Error includes advice, as far as the status allows.
func (e *StatusError) Error() string {
	s := fmt.Sprintf("%s: the server answered %d %s", e.Name, e.Status, http.StatusText(e.Status))
	switch {
	case e.Status >= 300 && e.Status < 400:
		s += ", a redirect: write the address that it leads to as url"
	case e.Status == http.StatusUnauthorized:
		s += ": check the user and password, or the key; nothing is lost, and it is tried again"
	case e.Status == http.StatusForbidden:
		s += ": the user or the key lacks the right to do this; nothing is lost, and it is tried again"
	case e.Status == http.StatusNotFound:
		s += ": check url and the names after it"
	}
	if e.Words != "" {
		s += ": " + strconv.Quote(e.Words)
	}
	return s
}

// OfContent reports whether the server may have refused what the request contains, so
// that some of it could still be taken.
func (e *StatusError) OfContent() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// Unfit is an error that lies in what a request contains: in smaller requests some
// of it may be taken. Words are the server's, for the one that is not.
type Unfit struct {
	Words string
	Err   error
}

func (u *Unfit) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u *Unfit) Unwrap() error { return u.Err }

// Unfit makes e an *Unfit if it is of what the request contains, and leaves it
// otherwise. words are the server's, if they were understood better than e.Words.
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
