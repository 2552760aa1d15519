package layers

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestNothingIsLeftToChance keeps `go test` from giving another answer at the next run.
func TestNothingIsLeftToChance(t *testing.T) {
	faults, err := CheckChance(os.DirFS("../.."), ProjectRules().TestOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestCheckChance(t *testing.T) {
	for _, c := range []struct{ name, file, imports, code, want string }{
		{"own source", "low/a_test.go", "math/rand/v2", "var r *rand.Rand = rand.New(rand.NewPCG(1, 2))", ""},
		{"the process's source", "low/a_test.go", "math/rand/v2", "var n = rand.IntN(3)", "a_test.go:5:9: rand.IntN has another seed"},
		{"under another name", "low/a_test.go", "math/rand/v2", "var n = other.IntN(3)", "other.IntN has another seed"},
		{"its own variable", "low/a_test.go", "math/rand/v2", "func f(m model) { m.rand.IntN(3) }", ""},
		{"old package", "low/a_test.go", "math/rand", "var r = rand.New(rand.NewSource(1))", `"math/rand" has another seed`},
		{"hash", "low/a_test.go", "hash/maphash", "var h maphash.Hash", "has another seed"},
		{"keys", "low/a_test.go", "crypto/rand", "var r = rand.Reader", ""},
		{"property", "low/a_test.go", "pgregory.net/rapid", "var _ = rapid.Check", "use internal/testing/seeded.Check"},
		{"subtest", "low/a_test.go", "pgregory.net/rapid", "var _ = rapid.MakeCheck", "use internal/testing/seeded.Check"},
		{"generator", "low/a_test.go", "pgregory.net/rapid", "var g = rapid.Int()", ""},
		{"clock", "low/a_test.go", "time", "var seed = time.Now().UnixNano()", "the clock is no seed"},
		{"instant", "low/a_test.go", "time", "var at = time.Now()", ""},
		{"code", "low/a.go", "math/rand/v2", "var n = rand.IntN(3)", ""},
		{"package for tests", "internal/site/a.go", "math/rand/v2", "var n = rand.IntN(3)", "rand.IntN has another seed"},
		{"its own package", ChancePackage + "/a.go", "math/rand/v2", "var n = rand.Uint64()", ""},
	} {
		spec := `"` + c.imports + `"`
		if strings.Contains(c.code, "other.") {
			spec = "other " + spec
		}
		tree := fstest.MapFS{c.file: {Data: []byte("package x\n\nimport " + spec + "\n\n" + c.code + "\n")}}
		faults, err := CheckChance(tree, fakeRules().TestOnly)
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(faults, "\n"); len(faults) > 1 || (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, want %q", c.name, found, c.want)
		}
	}
}
