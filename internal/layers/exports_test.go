package layers

import (
	"strings"
	"testing"
)

func TestPublicSignaturesNameNoInternalTypes(t *testing.T) {
	for _, f := range CheckExports(project(t)) {
		t.Error(f)
	}
}

// TestCheckExports: types are found wherever a program can see them, and nowhere else.
func TestCheckExports(t *testing.T) {
	const hall = "package hall\n\nimport \"" + Module + "/internal/x\"\n\n"
	for code, found := range map[string]bool{
		"func F(a int, b map[string][]*x.T) {}":             true,
		"func F() (chan [2]x.T, error) { return nil, nil }": true,
		"type S struct{ A struct{ B x.T } }":                true,
		"type S struct{ a x.T }":                            false,
		"type s struct{ A x.T }":                            false,
		"type S struct{ x.T }":                              true,
		"type I interface{ m(x.T) }":                        true,
		"type S int\n\nfunc (S) M(x.T) {}":                  true,
		"type S int\n\nfunc (S) m(x.T) {}":                  false,
		"func f(x.T) {}":                                    false,
		"var V = x.T{}":                                     true,
		"var V = x.N":                                       false,
		"type A = x.T":                                      true,
		"type G[T any] struct{ F T }\n\nvar V G[x.T]":       true,
		"type S struct{ Next *S; F func(x.T) }":             true,
		"func F(i interface{ M(x.T) }) {}":                  true,
	} {
		faults := CheckExports(module(t, map[string]string{
			"internal/x/x.go": "package x\n\ntype T struct{}\n\nconst N = 1\n\nfunc F(T) {}\n",
			"hall/hall.go":    hall + code + "\n\nvar _ x.T\n",
		}))
		if (len(faults) > 0) != found || found && !strings.Contains(faults[0], "names internal/x.T") {
			t.Errorf("%s: %q", code, faults)
		}
	}
}
