package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// Secret is a value that is printed nowhere: every way of formatting it gives
// "***". The zero value is no secret.
type Secret struct{ value string }

const hidden = "***"

// NewSecret hides value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal is the value itself, for the one place that sends it.
func (s Secret) Reveal() string { return s.value }

// IsZero says whether there is no secret.
func (s Secret) IsZero() bool { return s.value == "" }

// Equal says whether both hold the same value.
func (s Secret) Equal(other Secret) bool { return s.value == other.value }

// String is "***".
func (Secret) String() string { return hidden }

// Format prints "***" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// MarshalText is "***".
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON is "***".
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(hidden) }

// LogValue is "***".
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// expandError is a reference in a value that cannot be resolved: a byte offset
// into the value and words.
type expandError struct {
	offset  int
	message string
}

// expand replaces ${NAME} by the environment's variables; $${ stands for the
// characters ${. Env gives a variable's value, or what is wrong with it.
func expand(value string, env func(name string) (value, complaint string)) (string, []expandError) {
	if !strings.Contains(value, "${") {
		return value, nil
	}
	var out strings.Builder
	var errs []expandError
	for i := 0; i < len(value); {
		at := strings.Index(value[i:], "${")
		if at < 0 {
			out.WriteString(value[i:])
			break
		}
		at += i
		if at > i && value[at-1] == '$' {
			out.WriteString(value[i:at-1] + "${")
			i = at + 2
			continue
		}
		out.WriteString(value[i:at])
		name := variableName(value[at+2:])
		i = at + 2 + len(name)
		if name == "" || i >= len(value) || value[i] != '}' {
			errs = append(errs, expandError{at, "${ begins no variable: write ${NAME}, or $${ for the characters ${"})
			continue
		}
		i++
		v, complaint := env(name)
		if complaint != "" {
			errs = append(errs, expandError{at, "the environment variable " + clip(name) + " " + complaint})
		}
		out.WriteString(v)
	}
	return out.String(), errs
}

// variableName is the longest name of a variable that s begins with.
func variableName(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return s[:i]
		}
	}
	return s
}
