package layers

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// Walls say how well a package is divided, or a type: what a reader must hold in the head at once.
type Walls struct {
	Files      int
	References int // pairs of files, the first of which refers to the second
	Back       int // of these, those that run against the order of files that leaves the fewest
	Methods    int // of the type that has the most
	Type       string
}

// Share returns the percentage of references that run against the order, rounded up.
func (w Walls) Share() int {
	if w.References == 0 {
		return 0
	}
	return (100*w.Back + w.References - 1) / w.References
}

// String prints the figures in one line.
func (w Walls) String() string {
	return fmt.Sprintf("%d of %d references from file to file run against the order of files (%d %%), and %s has %d methods",
		w.Back, w.References, w.Share(), cmp.Or(w.Type, "no type"), w.Methods)
}

// Measure returns the walls of packages that Load has loaded, by folder.
func Measure(loaded []*packages.Package) map[string]Walls {
	out := map[string]Walls{}
	for _, p := range loaded {
		out[folderOf(p.PkgPath)] = measure(p)
	}
	return out
}

func measure(p *packages.Package) (w Walls) {
	g := references(p)
	files := make([]string, 0, len(p.Syntax))
	for _, f := range p.Syntax {
		files = append(files, fileOf(p, f))
	}
	slices.Sort(files)
	w.Files = len(files)
	w.References, w.Back = g.edges(), g.back(g.order(files))
	methods := map[string]int{}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if methods[name] > w.Methods {
			w.Type, w.Methods = name, methods[name]
		}
	}
	return w
}

// references returns which files use what others declare: packages' names, fields and methods.
func references(p *packages.Package) graph {
	g := graph{}
	for name, object := range p.TypesInfo.Uses {
		if object.Pkg() == p.Types && isDeclaredForAll(object) {
			g.add(p.Fset.Position(name.Pos()).Filename, p.Fset.Position(object.Pos()).Filename)
		}
	}
	short := graph{}
	for from, all := range g {
		for to := range all {
			short.add(filepath.Base(from), filepath.Base(to))
		}
	}
	return short
}

// isDeclaredForAll reports whether other files can use an object: it is one of the package, a field or a method.
func isDeclaredForAll(object types.Object) bool {
	if object.Parent() == object.Pkg().Scope() {
		return true
	}
	switch o := object.(type) {
	case *types.Var:
		return o.IsField()
	case *types.Func:
		return true
	}
	return false
}

func fileOf(p *packages.Package, f *ast.File) string {
	return filepath.Base(p.Fset.Position(f.Package).Filename)
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
