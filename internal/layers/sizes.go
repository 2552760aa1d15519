package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Sizes are what a package and a type may grow to before they need walls inside.
type Sizes struct {
	Files  int // of a package, without tests
	Fields int // of a struct: named ones, each name counted, and embedded ones
	// Tables are structs that may have more fields, because each field is one fact: settings,
	// rows that are stored, answers of the API. By package and name: why.
	Tables map[string]string
	// TestOnly packages are not looked at, as in Rules.
	TestOnly []string
}

// ProjectSizes are those of this project.
func ProjectSizes() Sizes {
	return Sizes{
		Files: 45, Fields: 20, TestOnly: ProjectRules().TestOnly,
		Tables: map[string]string{
			"config.Attribute": "a row of the table of settings", "crawl/policy.Settings": "settings", "fetcher.Settings": "settings", "scheduler.Settings": "settings",
			"scheduler.Record":          "the row that is stored of a URL",
			"scheduler.Result":          "what one visit found: a fact a field, empty where it found none",
			"internal/report.StoredURL": "the row of a stored URL in the API and of `sextant urls --json`",
			"crawl.Status":              "the answer of the API and of `sextant status --json`",
		},
	}
}

// CheckSizes reads every file in tree that is no test, and returns one line for each package
// and each struct that is too big, and for each table that is none or is not there.
func CheckSizes(tree fs.FS, s Sizes) ([]string, error) {
	var faults []string
	files, tables := map[string]int{}, maps.Clone(s.Tables)
	err := eachFile(tree, parser.SkipObjectResolution, func(name string, set *token.FileSet, f *ast.File) {
		folder := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || covered(s.TestOnly, folder) {
			return
		}
		files[folder]++
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, full := fieldsOf(spec), folder+"."+spec.Name.Name
			if _, ok := tables[full]; ok && fields > s.Fields {
				delete(tables, full)
			} else if fields > s.Fields {
				faults = append(faults, fmt.Sprintf("%s: %s has %d fields, more than %d: group those that belong together", set.Position(spec.Pos()), spec.Name.Name, fields, s.Fields))
			}
			return true
		})
	})
	for _, folder := range slices.Sorted(maps.Keys(files)) {
		if files[folder] > s.Files {
			faults = append(faults, fmt.Sprintf("%s has %d files, more than %d: which of them are a package of their own?", folder, files[folder], s.Files))
		}
	}
	for _, full := range slices.Sorted(maps.Keys(tables)) {
		faults = append(faults, full+" is no struct of more fields than others may have: take it out of Sizes.Tables")
	}
	return faults, err
}

func fieldsOf(spec *ast.TypeSpec) (n int) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return 0
	}
	for _, f := range s.Fields.List {
		n += max(len(f.Names), 1)
	}
	return n
}
