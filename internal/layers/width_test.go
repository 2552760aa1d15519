package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is the longest line, with a tab as one column.
const columns = 120

// TestWidth keeps comments within columns, and longer lines of code, mostly texts, from becoming more.
func TestWidth(t *testing.T) {
	tree, long := os.DirFS("../.."), map[bool]int{} // by whether the file is a test
	err := eachFile(tree, parser.PackageClauseOnly, func(name string, _ *token.FileSet, _ *ast.File) {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case utf8.RuneCountInString(line) <= columns:
			case strings.HasPrefix(strings.TrimSpace(line), "// "):
				t.Errorf("%s:%d: wrap the comment at %d columns", name, i+1, columns)
			default:
				long[strings.HasSuffix(name, "_test.go")]++
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// Today's figures: they are only lowered.
	for test, most := range map[bool]int{false: 1401, true: 2733} {
		if long[test] > most {
			t.Errorf("%d lines (in tests: %t) are longer than %d columns, at most %d may be", long[test], test, columns, most)
		}
	}
}
