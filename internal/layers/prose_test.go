package layers

import (
	"os"
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
