package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func projectOpenings() Openings {
	return Openings{
		Stored: []string{
			"scheduler", "scheduler/store", "scheduler/store/", "crawl", "crawl/",
			"actionrules/crawlspace/trapcounts.go", "fetcher/robots/memory.go", "internal/notices/memory.go",
		},
	}
}

// TestOpenings keeps files and packages saying at their head what runs at once.
func TestOpenings(t *testing.T) {
	faults, err := CheckOpenings(os.DirFS("../.."), projectOpenings())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestCheckOpenings(t *testing.T) {
	const (
		quiet  = "// Package x does x.\npackage x\n"
		silent = "a.go starts a goroutine: say which, and who waits for it, before its first declaration\npackage low starts a goroutine: say which, and who waits for it, in its doc comment"
	)
	for _, c := range []struct{ name, file, code, want string }{
		{"nothing to say", "low/a.go", quiet + "func f() {}", ""},
		{"no doc comment", "low/a.go", "package x", "package low has no doc comment: say what it owns"},
		{"go statement", "low/a.go", quiet + "func f() { go f() }", "low/" + silent},
		{"wait group", "low/a.go", quiet + "func f() { wg.Go(f) }", "low/" + silent},
		{"told in the package", "low/a.go", "// Package x has one goroutine.\npackage x\nfunc f() { go f() }", ""},
		{"told too late", "low/a.go", quiet + "type t int\n// f starts a goroutine.\nfunc f() { go f() }", "low/" + silent},
		{"a test", "low/a_test.go", "package x\nfunc f() { go f() }", ""},
		{"a package of later", "later/deep/a.go", "package x\nfunc f() { go f() }", ""},
		{
			"told before the first declaration", "low/a.go", "// Package x has one goroutine.\npackage x\nimport \"sync\"\n// mu guards a.\nvar mu sync.Mutex",
			"package low has a mutex: say what it guards, and who takes it, in its doc comment",
		},
		{"reads what is stored", "store/a.go", quiet + "import \"encoding/binary\"\nvar n = binary.BigEndian.Uint64(nil)", ""},
		{
			"writes what is stored", "store/a.go", quiet + "import \"encoding/binary\"\nvar b = binary.BigEndian.AppendUint64(nil, 1)",
			"store/a.go encodes what is stored: say in which form, before its first declaration",
		},
		{"writes for somebody else", "low/a.go", quiet + "import \"encoding/json\"\nvar b, _ = json.Marshal(1)", ""},
	} {
		tree := fstest.MapFS{c.file: {Data: []byte(c.code + "\n")}}
		faults, err := CheckOpenings(tree, Openings{Stored: []string{"store"}, Later: []string{"later/"}})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, strings.Join(faults, "\n")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// Openings are the rules on what the head of a file tells.
type Openings struct {
	// Stored are the packages, or files, that encode what outlives the process. As in
	// Rules, a name that ends in "/" is a whole folder.
	Stored []string
	// Later are packages that are not looked at yet.
	Later []string
}

// trait is something about a file that a reader wants to be told first.
type trait struct {
	fault string
	words *regexp.Regexp // that tell it
}

// The traits, in the order of traits.
const (
	startsGoroutine = iota
	hasMutex
	encodesStored
	traitsEnd
)

func traits() [traitsEnd]trait {
	return [...]trait{
		startsGoroutine: {"starts a goroutine: say which, and who waits for it", regexp.MustCompile(`(?i)\bgoroutines?\b`)},
		hasMutex:        {"has a mutex: say what it guards, and who takes it", regexp.MustCompile(`(?i)\b(locks?|mutex|mutexes|guards|guarded)\b`)},
		encodesStored:   {"encodes what is stored: say in which form", regexp.MustCompile(`(?i)\b(format|form|JSON)\b`)},
	}
}

// CheckOpenings reads every file in tree that is not a test. It returns one line for each that starts a goroutine,
// declares a mutex or encodes what is stored, and does not say so at its head: in the package's doc comment, a comment
// behind the imports, or the comment of its first declaration. It returns another for each package whose doc comment is
// missing, or does not speak of its goroutines and locks.
func CheckOpenings(tree fs.FS, o Openings) ([]string, error) {
	var faults []string
	docs, has := map[string]string{}, map[string][traitsEnd]bool{}
	err := eachFile(tree, parser.ParseComments|parser.SkipObjectResolution, func(name string, _ *token.FileSet, f *ast.File) {
		folder := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || covered(o.Later, folder) {
			return
		}
		docs[folder] += f.Doc.Text()
		all, here := has[folder], traitsOf(f, covered(o.Stored, folder) || covered(o.Stored, name))
		for i, t := range traits() {
			all[i] = all[i] || here[i]
			if here[i] && !t.words.MatchString(head(f)) {
				faults = append(faults, fmt.Sprintf("%s %s, before its first declaration", name, t.fault))
			}
		}
		has[folder] = all
	})
	for _, folder := range slices.Sorted(maps.Keys(docs)) {
		if docs[folder] == "" {
			faults = append(faults, fmt.Sprintf("package %s has no doc comment: say what it owns", folder))
			continue
		}
		for i, t := range traits() {
			if i != encodesStored && has[folder][i] && !t.words.MatchString(docs[folder]) {
				faults = append(faults, fmt.Sprintf("package %s %s, in its doc comment", folder, t.fault))
			}
		}
	}
	return faults, err
}

// head is what a file says before its first declaration, with the comment of that.
func head(f *ast.File) string {
	end := f.End()
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.IMPORT {
			end = d.Pos()
			break
		}
	}
	var text strings.Builder
	for _, c := range f.Comments {
		if c.End() <= end {
			text.WriteString(c.Text())
		}
	}
	return text.String()
}

// traitsOf looks for a file's traits; stored is that of its package.
func traitsOf(f *ast.File, stored bool) (has [traitsEnd]bool) {
	names, encoder := importNames(f), regexp.MustCompile(`^(Append|Put|Write|Marshal)`)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			has[startsGoroutine] = true
		case *ast.CallExpr: // of a sync.WaitGroup or an errgroup.Group
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 1 {
				has[startsGoroutine] = true
			}
		case *ast.SelectorExpr:
			name := n.Sel.Name
			if x, ok := n.X.(*ast.SelectorExpr); ok && x.Sel.Name == "BigEndian" || ok && x.Sel.Name == "LittleEndian" {
				n = x
			}
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			switch from := names[x.Name]; {
			case from == "sync" && (name == "Mutex" || name == "RWMutex"):
				has[hasMutex] = true
			case stored && (from == "encoding/json" || from == "encoding/binary") && encoder.MatchString(name):
				has[encodesStored] = true
			}
		}
		return true
	})
	return has
}
