package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

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

// CheckOpenings reads every file in tree that is not a test. It returns one line for each that
// starts a goroutine, declares a mutex or encodes what is stored, and does not say so at its
// head: in the package's doc comment, a comment behind the imports, or the comment of its
// first declaration. It returns another for each package whose doc comment is missing, or
// does not speak of its goroutines and locks.
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
