package layers

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestProjectKeepsItsLayers(t *testing.T) {
	faults, err := Check(os.DirFS("../.."), ProjectRules())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// TestProjectTreeIsRead keeps the test above from passing over nothing.
func TestProjectTreeIsRead(t *testing.T) {
	faults, err := Check(os.DirFS("../.."), Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(faults, "\n"); !strings.Contains(all, "weburl/weburl.go") {
		t.Errorf("without rules every file is a fault, but weburl/weburl.go is none of:\n%s", all)
	}
}

func fakeRules() Rules {
	return Rules{
		Levels:   [][]string{{"low"}, {"mid", "other"}, {"mid/child"}, {"top"}},
		TestOnly: []string{"internal/", "low/lowtest"},
		Borders: []Border{
			{Import: "example.org/db", Allowed: []string{"mid"}},
			{Import: "example.org/meter", File: "metrics.go"},
			{Import: "example.org/check", Tests: true},
			{Import: "example.org/cli", Allowed: []string{"top/", "top"}},
		},
	}
}

func TestCheck(t *testing.T) {
	own := func(p string) string { return Module + "/" + p }
	tests := []struct {
		name, file, pkg, imports string
		want                     string // the end of the only fault; "" for none
	}{
		{"down", "top/a.go", "top", own("low"), ""},
		{"child imports parent", "mid/child/a.go", "child", own("mid"), ""},
		{"parent imports child", "mid/a.go", "mid", own("mid/child"), "imports point down only"},
		{"up", "low/a.go", "low", own("top"), "imports point down only"},
		{"sibling", "mid/a.go", "mid", own("other"), "siblings do not import each other"},
		{"up in a test of the package", "low/a_test.go", "low", own("top"), "imports point down only"},
		{"up in an external test", "low/a_test.go", "low_test", own("top"), ""},
		{"itself in an external test", "low/a_test.go", "low_test", own("low"), ""},
		{"x_test package in an ordinary file", "low/a.go", "low_test", own("top"), "imports point down only"},
		{"test-only package in code", "mid/a.go", "mid", own("low/lowtest"), "it is for tests only"},
		{"internal package in code", "mid/a.go", "mid", own("internal/site"), "it is for tests only"},
		{"test-only package in a test", "mid/a_test.go", "mid", own("low/lowtest"), ""},
		{"test-only package in another", "internal/site/a.go", "site", own("low/lowtest"), ""},
		{"test-only package imports code", "low/lowtest/a.go", "lowtest", own("top"), ""},
		{"unknown package", "new/a.go", "fresh", own("low"), "package new has no level: add it to Rules"},
		{"unknown package imported", "top/a.go", "top", own("new"), "it has no level: add it to Rules"},
		{"border, allowed", "mid/a.go", "mid", "example.org/db/v4", ""},
		{"border, not allowed", "top/a.go", "top", "example.org/db/v4", "only mid may"},
		{"border, not in tests either", "top/a_test.go", "top", "example.org/db", "only mid may"},
		{"border, not in a child", "mid/child/a.go", "child", "example.org/db", "only mid may"},
		{"border, other module of like name", "top/a.go", "top", "example.org/dbx", ""},
		{"border, folder", "top/a.go", "top", "example.org/cli", ""},
		{"border, file", "low/metrics.go", "low", "example.org/meter/sub", ""},
		{"border, file's test", "low/metrics_test.go", "low", "example.org/meter", ""},
		{"border, other file", "low/meter.go", "low", "example.org/meter", "only files called metrics.go may"},
		{"border, tests", "low/a_test.go", "low", "example.org/check", ""},
		{"border, test-only package", "internal/site/a.go", "site", "example.org/check", ""},
		{"border, code", "low/a.go", "low", "example.org/check", "only tests may"},
		{"anything else", "low/a.go", "low", "net/http", ""},
		{"ignored folder", "low/testdata/a.go", "x", own("top"), ""},
		{"hidden folder", ".ci/a.go", "x", own("top"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := "//go:build ignore\n\npackage " + tt.pkg + "\n\nimport _ \"" + tt.imports + "\"\n"
			tree := fstest.MapFS{tt.file: {Data: []byte(text)}}
			faults, err := Check(tree, fakeRules())
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tt.want == "" && len(faults) > 0:
				t.Errorf("faults where none are due: %q", faults)
			case tt.want != "" && (len(faults) != 1 || !strings.HasSuffix(faults[0], ": "+tt.want)):
				t.Errorf("faults %q, want one that ends %q", faults, tt.want)
			}
		})
	}
}

func TestCheckSaysWhere(t *testing.T) {
	tree := fstest.MapFS{
		"low/a.go": {Data: []byte("package low\n\nimport (\n\t\"fmt\"\n\n\t\"" + Module + "/top\"\n)\n")},
	}
	faults, err := Check(tree, fakeRules())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"low/a.go:6:2: low imports " + Module + "/top: imports point down only"}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestCheckRefusesBrokenSource(t *testing.T) {
	tree := fstest.MapFS{"low/a.go": {Data: []byte("package low\n\nimport nonsense\n")}}
	if _, err := Check(tree, fakeRules()); err == nil {
		t.Error("no error for a file that does not parse")
	}
}

// TestOtherModulesAreLeftAlone: a folder with a go.mod has rules of its own.
func TestOtherModulesAreLeftAlone(t *testing.T) {
	tree := fstest.MapFS{
		"other/go.mod":   {Data: []byte("module other")},
		"other/a.go":     {Data: []byte("package main\n\nimport _ \"example.org/db\"")},
		"other/sub/b.go": {Data: []byte("package sub\n\nimport _ \"example.org/db\"")},
		"new/c.go":       {Data: []byte("package new")},
	}
	faults, err := Check(tree, fakeRules())
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) != 1 || !strings.Contains(faults[0], "new/c.go") {
		t.Errorf("faults: %q, want one, of new/c.go", faults)
	}
}
