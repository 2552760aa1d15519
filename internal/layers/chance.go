package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ChancePackage is the only one that may leave something to chance in tests.
const ChancePackage = "internal/testing/seeded"

// CheckChance reads every test file in tree, and the packages of testOnly, and returns
// one line for each place that draws random numbers nobody can repeat. Keys and
// certificates, which crypto/rand makes, decide no test.
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
