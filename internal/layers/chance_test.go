package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestNothingIsLeftToChance keeps `go test` from giving another answer at the next run.
func TestNothingIsLeftToChance(t *testing.T) {
	faults, err := CheckChance(os.DirFS("../.."), ProjectRules().TestOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestCheckChance(t *testing.T) {
	for _, c := range []struct{ name, file, imports, code, want string }{
		{"own source", "low/a_test.go", "math/rand/v2", "var r *rand.Rand = rand.New(rand.NewPCG(1, 2))", ""},
		{"the process's source", "low/a_test.go", "math/rand/v2", "var n = rand.IntN(3)", "a_test.go:5:9: rand.IntN has another seed"},
		{"under another name", "low/a_test.go", "math/rand/v2", "var n = other.IntN(3)", "other.IntN has another seed"},
		{"its own variable", "low/a_test.go", "math/rand/v2", "func f(m model) { m.rand.IntN(3) }", ""},
		{"old package", "low/a_test.go", "math/rand", "var r = rand.New(rand.NewSource(1))", `"math/rand" has another seed`},
		{"hash", "low/a_test.go", "hash/maphash", "var h maphash.Hash", "has another seed"},
		{"keys", "low/a_test.go", "crypto/rand", "var r = rand.Reader", ""},
		{"property", "low/a_test.go", "pgregory.net/rapid", "var _ = rapid.Check", "use internal/testing/seeded.Check"},
		{"subtest", "low/a_test.go", "pgregory.net/rapid", "var _ = rapid.MakeCheck", "use internal/testing/seeded.Check"},
		{"generator", "low/a_test.go", "pgregory.net/rapid", "var g = rapid.Int()", ""},
		{"clock", "low/a_test.go", "time", "var seed = time.Now().UnixNano()", "the clock is no seed"},
		{"instant", "low/a_test.go", "time", "var at = time.Now()", ""},
		{"code", "low/a.go", "math/rand/v2", "var n = rand.IntN(3)", ""},
		{"package for tests", "internal/site/a.go", "math/rand/v2", "var n = rand.IntN(3)", "rand.IntN has another seed"},
		{"its own package", ChancePackage + "/a.go", "math/rand/v2", "var n = rand.Uint64()", ""},
	} {
		spec := `"` + c.imports + `"`
		if strings.Contains(c.code, "other.") {
			spec = "other " + spec
		}
		tree := fstest.MapFS{c.file: {Data: []byte("package x\n\nimport " + spec + "\n\n" + c.code + "\n")}}
		faults, err := CheckChance(tree, fakeRules().TestOnly)
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(faults, "\n"); len(faults) > 1 || (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, want %q", c.name, found, c.want)
		}
	}
}

// ChancePackage is the only one that may leave something to chance in tests.
const ChancePackage = "internal/testing/seeded"

// CheckChance reads every test file in tree, and the packages of testOnly, and returns one line for each place that
// draws random numbers nobody can repeat. Keys and certificates, which crypto/rand makes, decide no test.
func CheckChance(tree fs.FS, testOnly []string) ([]string, error) {
	var faults []string
	err := eachFile(tree, parser.SkipObjectResolution, func(name string, set *token.FileSet, f *ast.File) {
		folder := path.Dir(name)
		if folder == ChancePackage || !strings.HasSuffix(name, "_test.go") && !covered(testOnly, folder) {
			return
		}
		c := chances{names: importNames(f)}
		ast.Inspect(f, c.look)
		for _, found := range c.found {
			faults = append(faults, fmt.Sprintf("%s: %s", set.Position(found.at), found.why))
		}
	})
	return faults, err
}

// importNames are the import paths by the names that a file gives them.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(strings.TrimSuffix(imported, "/v2"))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

// chances looks for chance in a file.
type chances struct {
	names map[string]string // import paths
	found []chance
}

type chance struct {
	at  token.Pos
	why string
}

func (c *chances) add(n ast.Node, format string, args ...any) {
	c.found = append(c.found, chance{n.Pos(), fmt.Sprintf(format, args...)})
}

func (c *chances) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		if p := n.Path.Value; p == `"math/rand"` || p == `"hash/maphash"` {
			c.add(n, "%s has another seed at each run: use %s.Rand", p, ChancePackage)
		}
	case *ast.SelectorExpr:
		c.selector(n)
	}
	return true
}

func (c *chances) selector(s *ast.SelectorExpr) {
	// What of math/rand/v2 has a source of its own.
	owned := []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}
	name := s.Sel.Name
	switch x := s.X.(type) {
	case *ast.Ident:
		switch from := c.names[x.Name]; {
		case from == "math/rand/v2" && !slices.Contains(owned, name):
			c.add(s, "%s.%s has another seed at each run: use %s.Rand", x.Name, name, ChancePackage)
		case from == "pgregory.net/rapid" && (name == "Check" || name == "MakeCheck"):
			c.add(s, "%s.%s has another seed at each run: use %s.Check", x.Name, name, ChancePackage)
		}
	case *ast.CallExpr:
		if strings.HasPrefix(name, "Unix") && c.isNow(x.Fun) {
			c.add(s, "the clock is no seed and no name: use %s.Seed, or count", ChancePackage)
		}
	}
}

// isNow reports whether a function is time.Now.
func (c *chances) isNow(fn ast.Expr) bool {
	s, ok := fn.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Now" {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && c.names[x.Name] == "time"
}
