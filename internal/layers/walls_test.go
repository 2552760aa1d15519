package layers

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Limits of packages that can be taken in at a glance, and what the others aim at.
const (
	fewFiles  = 12 // no share is asked of a package with fewer: it can be read whole
	aimShare  = 25 // percent of references against the order of files
	aimMethod = 80 // of one type
)

// limit is how far a package is from what a reader can hold in the head. It is never raised; a change that needs less
// lowers it.
type limit struct{ share, methods int }

const (
	aim    = 0  // methods: as few as the aim allows
	exempt = -1 // no limit on methods, for the reason beside it
)

// limits are today's figures of packages with many files or methods.
func limits() map[string]limit {
	return map[string]limit{
		"actionrules":            {11, aim},
		"actionrules/crawlspace": {9, aim},
		"cmd/sextant":            {6, aim},
		"config":                 {14, 115},
		"crawl":                  {18, 83},
		"crawl/copies/near":      {13, aim},
		"crawl/policy":           {16, aim},
		"crawl/visit":            {20, 93},
		"fetcher":                {18, aim},
		"fetcher/auth":           {12, aim},
		"fetcher/extract":        {17, aim},
		"fetcher/extract/feeds":  {12, aim},
		"fetcher/extract/office": {17, aim},
		"internal/admin":         {11, aim},
		"internal/admin/console": {11, aim},
		"internal/demo/indexer":  {23, aim},
		"internal/report":        {10, aim},
		"internal/service":       {11, aim},
		"scheduler":              {15, exempt},
		"scheduler/store":        {18, 97},
		"scheduler/store/pgkv":   {13, 0},
		"scheduler/store/record": {8, aim},
	}
}

func TestProjectKeepsItsWalls(t *testing.T) {
	all, left := Measure(project(t)), limits()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w := all[name]
		if covered(ProjectRules().TestOnly, name) {
			continue
		}
		at, listed := left[name]
		delete(left, name)
		methods := w.Methods
		if at.methods == exempt || methods <= aimMethod && at.methods == aim {
			methods = at.methods
		}
		switch {
		case !listed && w.Files < fewFiles && methods == aim:
		case !listed:
			t.Errorf("%s: %s: write %q: {%d, %d} into limits", name, w, name, w.Share(), methods)
		case w.Share() > at.share:
			t.Errorf("%s: %s: at most %d %% may: let files use those behind them, not each other", name, w, at.share)
		case methods > at.methods:
			t.Errorf("%s: %s: at most %d are allowed: which of them need only a part of it?", name, w, max(at.methods, aimMethod))
		case w.Share() < at.share || methods < at.methods:
			t.Errorf("%s: %s: write %q: {%d, %d}, since a limit is lowered with the figure", name, w, name, w.Share(), methods)
		}
	}
	for name := range left {
		t.Errorf("%s is no package: take it out of limits", name)
	}
}

// TestStoreNamesNoEngine: the store's logic runs on any database; one file opens stores on Badger.
func TestStoreNamesNoEngine(t *testing.T) {
	const store = Module + "/scheduler/store"
	i := slices.IndexFunc(project(t), func(p *packages.Package) bool { return p.PkgPath == store })
	if i < 0 {
		t.Fatalf("there is no package %s", store)
	}
	p := project(t)[i]
	for _, f := range p.Syntax {
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if strings.Contains(path, "/badger") && fileOf(p, f) != "disk.go" {
				t.Errorf("%s imports %s", fileOf(p, f), path)
			}
		}
	}
}

// TestMeasure: references by names, fields and methods count once for each pair of files, and the order is the best.
func TestMeasure(t *testing.T) {
	got := Measure(module(t, map[string]string{
		"hall/a.go":      "package hall\n\nfunc a(t T) int { return t.field + t.own() + b() }\n",
		"hall/b.go":      "package hall\n\nfunc b() int { return c + c }\n\nfunc (t *T) own() int { return a(*t) }\n",
		"hall/c.go":      "package hall\n\nvar c int\n\ntype T struct{ field int }\n\nfunc (T) M() {}\n\nfunc alone() { c := 1; _ = c }\n",
		"hall/c_test.go": "package hall\n\nvar _ = a\n",
		"room/r.go":      "package room\n\nimport \"" + Module + "/hall\"\n\nvar t hall.T\n",
	}))
	// a uses b and c, b uses a and c; either a or b comes first.
	want := map[string]Walls{"hall": {Files: 3, References: 4, Back: 1, Methods: 2, Type: "T"}, "room": {Files: 1}}
	if !maps.Equal(got, want) {
		t.Errorf("measured %v, want %v", got, want)
	}
	if w := got["hall"]; w.Share() != 25 {
		t.Errorf("1 of 4 is %d %%", w.Share())
	}
}

// TestOrder: in a ring one edge runs back, and files that only use others come first.
func TestOrder(t *testing.T) {
	g := graph{}
	for _, e := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "a"}, {"z", "a"}, {"z", "b"}, {"c", "y"}, {"a", "a"}} {
		g.add(e[0], e[1])
	}
	if n, back := g.edges(), g.back(g.order([]string{"a", "b", "c", "d", "y", "z"})); n != 7 || back != 1 {
		t.Errorf("%d of %d edges run back, want 1 of 7", back, n)
	}
}

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
