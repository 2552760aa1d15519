package layers

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

func TestPublicSignaturesNameNoInternalTypes(t *testing.T) {
	for _, f := range CheckExports(project(t)) {
		t.Error(f)
	}
}

// TestCheckExports: types are found wherever a program can see them, and nowhere else.
func TestCheckExports(t *testing.T) {
	cases := map[string]bool{
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
	}
	files := map[string]string{"internal/x/x.go": "package x\n\ntype T struct{}\n\nconst N = 1\n\nfunc F(T) {}\n"}
	codes := slices.Sorted(maps.Keys(cases))
	for i, code := range codes {
		const hall = "package hall\n\nimport \"" + Module + "/internal/x\"\n\n"
		files[fmt.Sprintf("hall%d/hall.go", i)] = hall + code + "\n\nvar _ x.T\n"
	}
	faults := CheckExports(module(t, files))
	for i, code := range codes {
		found := slices.ContainsFunc(faults, func(f string) bool {
			return strings.Contains(f, fmt.Sprintf("/hall%d/hall.go:", i)) && strings.Contains(f, "names internal/x.T")
		})
		if found != cases[code] {
			t.Errorf("%s: %q", code, faults)
		}
	}
}

// CheckExports returns one line for each exported name of a public package whose type names one of an internal package:
// a program that imports the package could not write it.
func CheckExports(loaded []*packages.Package) []string {
	var faults []string
	for _, p := range loaded {
		if isInternal(p.PkgPath) || p.Name == "main" {
			continue
		}
		e := exports{seen: map[types.Type]bool{}}
		for _, name := range p.Types.Scope().Names() {
			object := p.Types.Scope().Lookup(name)
			if !object.Exported() {
				continue
			}
			if found := e.object(object); found != "" {
				faults = append(faults, fmt.Sprintf("%s: %s of the public package %s names %s, which no other module can import",
					p.Fset.Position(object.Pos()), name, folderOf(p.PkgPath), found))
			}
		}
	}
	return faults
}

func isInternal(path string) bool { return strings.Contains("/"+path+"/", "/internal/") }

// exports looks for types of internal packages in those that a program can see.
type exports struct{ seen map[types.Type]bool }

// object returns the first internal type in what an exported name is.
func (e *exports) object(o types.Object) string {
	name, ok := o.(*types.TypeName)
	if !ok || name.IsAlias() {
		return e.typ(o.Type())
	}
	named, ok := o.Type().(*types.Named)
	if !ok {
		return ""
	}
	for method := range named.Methods() {
		if !method.Exported() {
			continue
		}
		if found := e.typ(method.Type()); found != "" {
			return found
		}
	}
	return e.typ(named.Underlying())
}

// typ returns the first internal type in t: of exported fields and methods alone, which are all that can be seen.
func (e *exports) typ(t types.Type) string {
	if e.seen[t] {
		return ""
	}
	e.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		return e.named(t)
	case *types.Alias:
		return e.typ(types.Unalias(t))
	case *types.Pointer:
		return e.typ(t.Elem())
	case *types.Slice:
		return e.typ(t.Elem())
	case *types.Array:
		return e.typ(t.Elem())
	case *types.Chan:
		return e.typ(t.Elem())
	case *types.Map:
		return e.first(t.Key(), t.Elem())
	case *types.Signature:
		return e.first(t.Params(), t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			if found := e.typ(v.Type()); found != "" {
				return found
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() {
				continue
			}
			if found := e.typ(f.Type()); found != "" {
				return found
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if found := e.typ(m.Type()); found != "" {
				return found
			}
		}
	}
	return ""
}

func (e *exports) first(all ...types.Type) string {
	for _, t := range all {
		if found := e.typ(t); found != "" {
			return found
		}
	}
	return ""
}

func (e *exports) named(t *types.Named) string {
	if pkg := t.Obj().Pkg(); pkg != nil && strings.HasPrefix(pkg.Path(), Module+"/") && isInternal(pkg.Path()) {
		return folderOf(pkg.Path()) + "." + t.Obj().Name()
	}
	for a := range t.TypeArgs().Types() {
		if found := e.typ(a); found != "" {
			return found
		}
	}
	return ""
}
