package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// TestRaceStepNamesTests: each name by which .ci/run chooses tests for the race detector, or leaves them out, is the
// beginning of a test in the packages of its command.
func TestRaceStepNamesTests(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	script := testdir.Read(t, filepath.Join(root, ".ci", "run"))
	chosen := regexp.MustCompile(`go test -race -short -(?:run|skip) '\^(Test)?\(([A-Za-z|]+)\)(\$?)' (.*)`)
	found := chosen.FindAllStringSubmatch(strings.ReplaceAll(string(script), "\\\n", " "), -1)
	if len(found) != strings.Count(string(script), "CGO_ENABLED=1 go test -race ") {
		t.Errorf("%d commands choose tests", len(found))
	}
	for _, m := range found {
		tests := testsOf(t, root, strings.Fields(m[4]))
		for name := range strings.SplitSeq(m[2], "|") {
			declared := "\nfunc " + m[1] + name
			if m[3] != "" {
				declared += "("
			}
			if !strings.Contains(tests, declared) {
				t.Errorf("no test of%s begins with %s%s", m[4], m[1], name)
			}
		}
	}
}

// testsOf returns the text of the test files of packages.
func testsOf(t *testing.T, root string, packages []string) string {
	t.Helper()
	var all strings.Builder
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(root, p, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d test files, %v", p, len(files), err)
		}
		for _, f := range files {
			text := testdir.Read(t, f)
			all.Write(text)
		}
	}
	return all.String()
}
