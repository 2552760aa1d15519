package layers

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func projectOpenings() Openings {
	return Openings{
		Stored: []string{
			"scheduler", "scheduler/badgerstore", "scheduler/badgerstore/", "crawl", "crawl/",
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
