package robots

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"maps"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// googleCases reads the expectations of Google's own tests of robots.txt out of the source of their Go port: calls
// such as EXPECT_TRUE(IsUserAgentAllowed(robotstxt, agent, url)), whose arguments are constants of strings.
type googleCases struct {
	cases []googleCase
}

type googleCase struct {
	at                 token.Pos
	robots, agent, url string
	allowed            bool
}

// block reads statements in their order. names are the strings that have a name there.
func (g *googleCases) block(statements []ast.Stmt, names map[string]string) {
	names = maps.Clone(names)
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.BlockStmt:
			g.block(s.List, names)
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) == 1 {
					assign(names, v.Names[0], token.ASSIGN, v.Values[0])
				}
			}
		case *ast.AssignStmt:
			if name, ok := s.Lhs[0].(*ast.Ident); ok && len(s.Lhs) == 1 {
				assign(names, name, s.Tok, s.Rhs[0])
			}
		case *ast.ForStmt: // what it makes has no constant value
			for _, made := range s.Body.List {
				if made, ok := made.(*ast.AssignStmt); ok {
					delete(names, made.Lhs[0].(*ast.Ident).Name)
				}
			}
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok {
				g.call(call, names)
			}
		}
	}
}

func assign(names map[string]string, name *ast.Ident, operator token.Token, x ast.Expr) {
	value, ok := evaluate(x, names)
	if operator == token.ADD_ASSIGN {
		value = names[name.Name] + value
	}
	if names[name.Name] = value; !ok {
		delete(names, name.Name)
	}
}

// call reads an expectation, or what is inside of a function that is called or handed on.
func (g *googleCases) call(call *ast.CallExpr, names map[string]string) {
	if f, ok := call.Fun.(*ast.FuncLit); ok {
		g.block(f.Body.List, names)
	}
	for _, argument := range call.Args {
		if f, ok := argument.(*ast.FuncLit); ok {
			g.block(f.Body.List, names)
		}
	}
	expect, ok := call.Fun.(*ast.Ident)
	if !ok || expect.Name != "EXPECT_TRUE" && expect.Name != "EXPECT_FALSE" {
		return
	}
	asked, ok := call.Args[0].(*ast.CallExpr)
	if !ok {
		return
	}
	if name, ok := asked.Fun.(*ast.Ident); !ok || name.Name != "IsUserAgentAllowed" {
		return
	}
	robots, ok1 := evaluate(asked.Args[0], names)
	agent, ok2 := evaluate(asked.Args[1], names)
	url, ok3 := evaluate(asked.Args[2], names)
	if ok1 && ok2 && ok3 {
		g.cases = append(g.cases, googleCase{call.Pos(), robots, agent, url, expect.Name == "EXPECT_TRUE"})
	}
}

// evaluate returns the value of a literal, a name or a sum of them.
func evaluate(x ast.Expr, names map[string]string) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil
	case *ast.Ident:
		s, ok := names[x.Name]
		return s, ok
	case *ast.BinaryExpr:
		a, ok := evaluate(x.X, names)
		b, ok2 := evaluate(x.Y, names)
		return a + b, ok && ok2 && x.Op == token.ADD
	}
	return "", false
}

// ascii writes what is not ASCII as URLs are asked for.
func ascii(url string) string {
	var out strings.Builder
	for i := range len(url) {
		if url[i] < utf8.RuneSelf {
			out.WriteByte(url[i])
		} else {
			fmt.Fprintf(&out, "%%%X", url[i])
		}
	}
	return out.String()
}

// TestGoogle runs the cases of Google's parser, except for those of its interface and of lines that are too long.
func TestGoogle(t *testing.T) {
	files := token.NewFileSet()
	const port = "github.com/jimsmart/grobotstxt"
	file, err := goparser.ParseFile(files, testneed.Module(t, port, "robots_test.go"), nil, goparser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var g googleCases
	for _, d := range file.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
			if call, ok := d.Specs[0].(*ast.ValueSpec).Values[0].(*ast.CallExpr); ok {
				g.call(call, map[string]string{})
			}
		}
	}
	if len(g.cases) < 130 {
		t.Errorf("only %d cases", len(g.cases))
	}
	for _, c := range g.cases {
		if got := Parse([]byte(c.robots)).AllowedTarget(c.agent, targetOf(ascii(c.url))); got != c.allowed {
			t.Errorf("line %d: agent %q, URL %q: allowed %v, want %v, by\n%s",
				files.Position(c.at).Line, c.agent, c.url, got, c.allowed, c.robots)
		}
	}
	t.Logf("%d cases", len(g.cases))
}
