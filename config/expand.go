package config

import (
	"strings"
)

// expandError is an unresolvable reference in a value: a byte offset in the value and a message.
type expandError struct {
	offset  int
	message string
}

// expand replaces ${NAME} by environment variables; $${ stands for the characters ${. env returns a variable's value,
// or an error message.
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
			errs = append(errs, expandError{at, "${ is not followed by a variable: write ${NAME}, or $${ for the characters ${"})
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

// variableName returns the longest variable name that s begins with.
func variableName(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return s[:i]
		}
	}
	return s
}
