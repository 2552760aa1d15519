// Package secret holds values that must not be printed.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Value is a password, a token or a form's value that never prints: not by fmt with any verb, not as JSON or text, not
// in a log. It is stored in a closure, so that printing a struct by reflection does not show it either. The zero value
// is the empty secret. It is immutable.
type Value struct {
	value func() string
}

// New returns s as a Value.
func New(s string) Value { return Value{value: func() string { return s }} }

// Reveal returns the secret. Callers put it into a request and nowhere else.
func (s Value) Reveal() string {
	if s.value == nil {
		return ""
	}
	return s.value()
}

// IsEmpty reports whether the secret is empty.
func (s Value) IsEmpty() bool { return s.Reveal() == "" }

// Equal reports whether both secrets are equal.
func (s Value) Equal(other Value) bool { return s.Reveal() == other.Reveal() }

// String returns the same for all secrets, and does not reveal the length.
func (Value) String() string { return redacted }

// GoString returns String for %#v.
func (Value) GoString() string { return redacted }

// Format writes String for every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON implements json.Marshaler with the result of String.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText marshals String.
func (Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer with String.
func (Value) LogValue() slog.Value { return slog.StringValue(redacted) }
