package weburl

import (
	"errors"
	"fmt"
)

// Reasons for which a string is not a URL that can be crawled; test with errors.Is.
var (
	ErrMalformed = errors.New("malformed URL")
	ErrScheme    = errors.New("not an http or https URL")
	ErrTooLong   = fmt.Errorf("URL longer than %d bytes", MaxLength)
)

// Error describes a string that is not a URL that can be crawled.
type Error struct {
	URL    string // as given, cut for display
	Err    error  // ErrMalformed, ErrScheme or ErrTooLong
	Detail string // the parser's message, may be empty
}

func (e *Error) Error() string {
	u := e.URL
	if len(u) > 200 {
		u = u[:200] + "..."
	}
	if e.Detail == "" {
		return fmt.Sprintf("%q: %v", u, e.Err)
	}
	return fmt.Sprintf("%q: %v: %s", u, e.Err, e.Detail)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
