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

// Check reads the imports of every Go file in tree, whatever its build tags, and returns one line for each that breaks
// a rule, in the order of the files. The error is one of reading or parsing.
func Check(tree fs.FS, r Rules) ([]string, error) {
	c := checker{rules: r, level: map[string]int{}}
	for i, packages := range r.Levels {
		for _, p := range packages {
			c.level[p] = i
		}
	}
	err := eachFile(tree, parser.ImportsOnly, c.file)
	return c.faults, err
}

// eachFile parses every Go file in tree, whatever its build tags, in the order of names.
func eachFile(tree fs.FS, mode parser.Mode, fn func(name string, set *token.FileSet, f *ast.File)) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name != "." && (ignoredFolder(d.Name()) || isModule(tree, name)) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, text, mode)
		if err == nil {
			fn(name, set, f)
		}
		return err
	})
}

// ignoredFolder tells the folders that the go command ignores too.
func ignoredFolder(base string) bool {
	return base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_'
}

// isModule reports whether a folder is a module of its own: its imports are its own affair.
func isModule(tree fs.FS, folder string) bool {
	_, err := fs.Stat(tree, path.Join(folder, "go.mod"))
	return err == nil
}

type checker struct {
	rules  Rules
	level  map[string]int
	faults []string
}

// source is one Go file, as far as the rules ask about it.
type source struct {
	name     string // with folder
	pkg      string // the folder
	test     bool   // a test file
	external bool   // a test file of package x_test
	testOnly bool   // in a TestOnly package
}

func (c *checker) file(name string, set *token.FileSet, f *ast.File) {
	s := source{name: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go")}
	s.external = s.test && strings.HasSuffix(f.Name.Name, "_test")
	s.testOnly = covered(c.rules.TestOnly, s.pkg)
	if _, known := c.level[s.pkg]; !known && !s.testOnly {
		c.faults = append(c.faults, fmt.Sprintf("%s: package %s has no level: add it to Rules", name, s.pkg))
		return
	}
	for _, spec := range f.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // it was parsed
		if why := c.judge(s, imported); why != "" {
			c.faults = append(c.faults, fmt.Sprintf("%s: %s imports %s: %s", set.Position(spec.Pos()), s.pkg, imported, why))
		}
	}
}

// judge returns why s may not import the package, or "".
func (c *checker) judge(s source, imported string) string {
	if own, ok := strings.CutPrefix(imported, Module+"/"); ok {
		return c.judgeOwn(s, own)
	}
	for _, b := range c.rules.Borders {
		if below(b.Import, imported) && !b.allows(s) {
			return b.reason()
		}
	}
	return ""
}

// judgeOwn judges an import of one of the project's packages. An external test may look at its package from above (a
// push target against the indexer, for example), so levels do not bind it.
func (c *checker) judgeOwn(s source, imported string) string {
	if covered(c.rules.TestOnly, imported) {
		if s.test || s.testOnly {
			return ""
		}
		return "it is for tests only"
	}
	to, known := c.level[imported]
	if !known {
		return "it has no level: add it to Rules"
	}
	if s.testOnly || s.external || imported == s.pkg {
		return ""
	}
	switch from := c.level[s.pkg]; {
	case to > from:
		return "imports point down only"
	case to == from:
		return "siblings do not import each other"
	}
	return ""
}

func (b Border) allows(s source) bool {
	if covered(b.Allowed, s.pkg) || b.Tests && (s.test || s.testOnly) {
		return true
	}
	base := path.Base(s.name)
	return b.File != "" && (base == b.File || base == strings.TrimSuffix(b.File, ".go")+"_test.go")
}

func (b Border) reason() string {
	switch {
	case b.File != "":
		return "only files called " + b.File + " may"
	case b.Tests:
		return "only tests may"
	}
	return "only " + strings.Join(b.Allowed, ", ") + " may"
}

// covered reports whether pkg is in the list, or below a folder in it.
func covered(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		return p == pkg || strings.HasSuffix(p, "/") && strings.HasPrefix(pkg, p)
	})
}

// below reports whether the import path is root, or a package under it.
func below(root, imported string) bool {
	return imported == root || strings.HasPrefix(imported, root+"/")
}
