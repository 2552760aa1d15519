package config

import (
	"fmt"
	"testing"
)

func TestExpand(t *testing.T) {
	env := func(name string) (value, complaint string) {
		v, ok := map[string]string{"A": "1", "_b2": "two", "EMPTY": "", "REF": "${A}"}[name]
		if !ok {
			return "", "is not set"
		}
		return v, ""
	}
	for value, want := range map[string]string{
		"plain $ {A} $A": "plain $ {A} $A",
		"${A}":           "1",
		"x${A}${_b2}y":   "x1twoy",
		"[${EMPTY}]":     "[]",
		"${REF}":         "${A}", // not expanded again
		"$${A}":          "${A}",
		"$$${A}":         "$${A}",
		"a$${${A}":       "a${1",
		"${NO}":          "error at 0",
		"é${A}${1}":      "error at 6",
		"${A":            "error at 0",
		"${}":            "error at 0",
		"${A B}":         "error at 0",
	} {
		got, errs := expand(value, env)
		if len(errs) > 0 {
			got = fmt.Sprintf("error at %d", errs[0].offset)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
