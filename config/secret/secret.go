// Package secret holds what must not be printed.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Value is a password, a token or a form's value that prints nowhere: not by
// fmt with any verb, not as JSON or text, not in a log. The value sits in a
// closure, so that a struct printed by reflection does not show it either. The
// zero value is the empty secret. It is immutable.
type Value struct {
	value func() string
}

// New hides s.
func New(s string) Value { return Value{value: func() string { return s }} }

// Reveal returns what was hidden. Its callers put it into a request and nowhere else.
func (s Value) Reveal() string {
	if s.value == nil {
		return ""
	}
	return s.value()
}

// IsEmpty reports whether there is nothing to hide.
func (s Value) IsEmpty() bool { return s.Reveal() == "" }

// Equal reports whether both hide the same value.
func (s Value) Equal(other Value) bool { return s.Reveal() == other.Reveal() }

// String is not part of the secret, and tells not even its length.
func (Value) String() string { return redacted }

// GoString returns the form of %#v.
func (Value) GoString() string { return redacted }

// Format is the form of every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON writes no secret.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText writes no secret.
func (Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns the form in a log (log/slog).
func (Value) LogValue() slog.Value { return slog.StringValue(redacted) }
