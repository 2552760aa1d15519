package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestNearest(t *testing.T) {
	known := []string{"Root", "Roots", "Rules", "litteral", "nthreads", "smartRefreshMinAgeS", "smartRefreshMaxAgeS"}
	got := make(map[string]string)
	want := map[string]string{
		"root": "Root", "Rot": "Root", "ROOTS": "Roots", "Rulse": "Rules", "literal": "litteral", "nthread": "nthreads",
		"smartRefreshMaxS": "smartRefreshMaxAgeS", "x": "", "": "", "Something": "", strings.Repeat("Root", 1000): "",
	}
	for name := range want {
		got[name] = Nearest(name, known)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
