package layers

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestProjectKeepsItsSizes(t *testing.T) {
	faults, err := CheckSizes(os.DirFS("../.."), ProjectSizes())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// TestSizes: what is too big is told of, tables and tests are not.
func TestSizes(t *testing.T) {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"hall/a.go":      "package hall\n\ntype big struct {\n\ta, b int\n\tc\n}\n\ntype c struct{}\n",
		"hall/b.go":      "package hall\n\n// Table is one.\ntype Table struct{ A, B, C int }\n\ntype small struct{ a, b int }\n",
		"hall/c.go":      "package hall\n",
		"hall/c_test.go": "package hall\n\ntype world struct{ a, b, c, d int }\n",
		"room/a.go":      "package room\n",
		"tests/a.go":     "package tests\n\ntype world struct{ a, b, c, d int }\n",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	faults, err := CheckSizes(tree, Sizes{
		Files: 2, Fields: 2, TestOnly: []string{"tests"}, Tables: map[string]string{"hall.Table": "a table", "hall.small": "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"big has 3 fields", "hall has 3 files", "hall.small is no struct"}
	if len(faults) != len(want) {
		t.Fatalf("faults %q", faults)
	}
	for i, w := range want {
		if !strings.Contains(faults[i], w) {
			t.Errorf("fault %q, want %q", faults[i], w)
		}
	}
}
