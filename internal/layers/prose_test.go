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
	"strings"
	"testing"
	"testing/fstest"
)

// TestNoTextDecides keeps wording free: what a sentence says may change at any time.
func TestNoTextDecides(t *testing.T) {
	faults, err := CheckProse(os.DirFS("../.."), ProjectRules().TestOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestCheckProse(t *testing.T) {
	for _, c := range []struct {
		name, file, code string
		fault            bool
	}{
		{"equal", "low/a.go", `var _ = r.LastError == "robots.txt forbids it"`, true},
		{"unequal, of two records", "low/a.go", `var _ = r.LastError != old.words`, true},
		{"is there any", "low/a.go", `var _ = r.LastError != "" && "" == r.LastError`, false},
		{"prefix", "low/a.go", `var _ = strings.HasPrefix(r.LastError, "rule ")`, true},
		{"another text", "low/a.go", `var _ = strings.HasPrefix(r.URL, "http")`, false},
		{"switch", "low/a.go", `func f() { switch r.LastError { case "x": } }`, true},
		{"table", "low/a.go", `var _ = reasons[r.LastError]`, true},
		{"expression", "low/a.go", `var _ = robots.MatchString(r.LastError)`, true},
		{"words of an outcome", "crawl/a.go", `var _ = r.Words == noIndexWords`, true},
		{"words of something else", "low/a.go", `var _ = p.Words == "x"`, false},
		{"text of a deletion", "crawl/review/a.go", `var _ = strings.Contains(d.Text, "404")`, true},
		{"text of an element", "config/a.go", `var _ = e.Text == "x"`, false},
		{"shown", "low/a.go", `var _ = show(r.LastError)`, false},
		{"of old versions", ProseFile, `var _ = r.LastError == "empty"`, false},
		{"would be said twice", "crawl/a.go", `var _ = r.Words != statusWords(r.Status)`, false},
		{"a package for tests", "low/lowtest/a.go", `var _ = r.LastError == "empty"`, false},
		{"a test", "low/a_test.go", `var _ = r.LastError == "empty"`, false},
	} {
		faults, err := CheckProse(fstest.MapFS{c.file: {Data: []byte("package x\n\n" + c.code + "\n")}}, fakeRules().TestOnly)
		if err != nil {
			t.Fatal(err)
		}
		if (len(faults) == 1) != c.fault || len(faults) > 1 || c.fault && !strings.HasPrefix(faults[0], c.file+":3:") {
			t.Errorf("%s: %q", c.name, faults)
		}
	}
}

// ProseFile is the only one that may decide by what is written for people: it gives
// records of versions without reasons theirs.
const ProseFile = "scheduler/reason_old.go"

// proseFields hold texts for people about a URL; the value names the folders where a field
// of that name is one, "" for all.
func proseFields() map[string][]string {
	return map[string][]string{"LastError": {""}, "Words": {"scheduler", "crawl", "internal/admin", "cmd/sextant"}, "Text": {"scheduler", "crawl"}}
}

// CheckProse reads every file in tree that is not a test and in no package of testOnly, and returns one line for each
// place that compares or searches a text for people. What is decided by a text changes when the text is worded again: a
// code decides (scheduler.Reason). Whether there is a text may be asked, and whether it is what a function makes, which
// tells whether it would be said twice.
func CheckProse(tree fs.FS, testOnly []string) ([]string, error) {
	var faults []string
	err := eachFile(tree, parser.SkipObjectResolution, func(name string, set *token.FileSet, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") || name == ProseFile || covered(testOnly, path.Dir(name)) {
			return
		}
		p := prose{folder: path.Dir(name)}
		ast.Inspect(f, p.look)
		for _, at := range p.found {
			faults = append(faults, fmt.Sprintf("%s: a text for people decides: compare its scheduler.Reason", set.Position(at)))
		}
	})
	return faults, err
}

// prose looks for decisions by texts in a file.
type prose struct {
	folder string
	found  []token.Pos
}

func (p *prose) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op != token.EQL && n.Op != token.NEQ || isHarmless(n.X) || isHarmless(n.Y) {
			break
		}
		if p.isProse(n.X) || p.isProse(n.Y) {
			p.found = append(p.found, n.Pos())
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && p.isProse(n.Tag) {
			p.found = append(p.found, n.Pos())
		}
	case *ast.CallExpr:
		if searches(n.Fun) && slices.ContainsFunc(n.Args, p.isProse) {
			p.found = append(p.found, n.Pos())
		}
	case *ast.IndexExpr: // a table by texts
		if p.isProse(n.Index) {
			p.found = append(p.found, n.Pos())
		}
	}
	return true
}

// isProse reports whether an expression is a field that holds a text for people.
func (p *prose) isProse(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	return slices.ContainsFunc(proseFields()[s.Sel.Name], func(folder string) bool {
		return folder == "" || p.folder == folder || strings.HasPrefix(p.folder, folder+"/")
	})
}

// isHarmless reports whether a text may be compared with this: none at all, or what a function makes.
func isHarmless(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING && len(e.Value) == len(`""`)
	case *ast.CallExpr:
		return true
	}
	return false
}

// searches reports whether a function compares or searches texts.
func searches(fn ast.Expr) bool {
	s, ok := fn.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch s.Sel.Name {
	case "HasPrefix", "HasSuffix", "Contains", "ContainsAny", "ContainsRune", "EqualFold", "Index", "LastIndex", "Count", "Cut", "CutPrefix", "CutSuffix",
		"MatchString", "FindString", "FindStringSubmatch", "Compare":
		return true
	}
	return false
}
