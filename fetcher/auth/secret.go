package auth

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a password, a token or a form's value that prints nowhere: not by
// fmt with any verb, not as JSON or text, not in a log. The value sits in a
// closure, so that a struct printed by reflection does not show it either. The
// zero value is the empty secret. It is immutable.
type Secret struct {
	value func() string
}

// NewSecret hides s.
func NewSecret(s string) Secret { return Secret{value: func() string { return s }} }

// Reveal is what was hidden. Its callers put it into a request and nowhere else.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return s.value()
}

// IsEmpty says whether there is nothing to hide.
func (s Secret) IsEmpty() bool { return s.Reveal() == "" }

// String is no part of the secret, and tells not even its length.
func (Secret) String() string { return redacted }

// GoString is the form of %#v.
func (Secret) GoString() string { return redacted }

// Format is the form of every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON writes no secret.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText writes no secret.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue is the form in a log (log/slog).
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
