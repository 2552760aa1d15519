package testneed

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// ended records how a need ends a test. What ends one ends its goroutine, as it does in testing.
type ended struct {
	testing.TB
	how, words string
}

func (e *ended) Helper() {}

func (e *ended) Skipf(format string, args ...any) { e.end("skipped", format, args...) }

func (e *ended) Fatalf(format string, args ...any) { e.end("failed", format, args...) }

func (e *ended) end(how, format string, args ...any) {
	e.how, e.words = how, fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// run runs a test and returns how it ended, "" for one that ran to its end.
func run(t *testing.T, test func(t testing.TB)) *ended {
	e := &ended{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(e)
	}()
	<-done
	return e
}

// TestMissing: each need that is not met skips a developer's test and fails one of continuous integration, and says
// what to do.
func TestMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SEXTANT_CHROMIUM", "no-such-browser")
	needs := map[string]func(t testing.TB){
		"apt-get install some-package":  func(t testing.TB) { Program(t, "no-such-program", "some-package") },
		"apt-get install another":       func(t testing.TB) { File(t, "/no/such/file", "another") },
		"apt-get install chromium":      func(t testing.TB) { Browser(t) },
		"go mod download example.com/m": func(t testing.TB) { Module(t, "example.com/m", "testdata") },
		"CONTRIBUTING.md":               func(t testing.TB) { Suite(t, "no/such/suite") },
		"of any kind":                   func(t testing.TB) { Missing(t, "a need %s", "of any kind") },
	}
	for ci, how := range map[string]string{"": "skipped", "false": "skipped", "true": "failed"} {
		t.Setenv("CI", ci)
		for words, need := range needs {
			if e := run(t, need); e.how != how || !strings.Contains(e.words, words) {
				t.Errorf("CI=%s: %q with %q, want %q with %q", ci, e.how, e.words, how, words)
			}
		}
	}
}

func TestFound(t *testing.T) {
	t.Setenv("CI", "true")
	if path := Program(t, "go", "golang"); filepath.Base(path) != "go" {
		t.Errorf("go is %s", path)
	}
	if path := Module(t, "github.com/google/go-cmp", "cmp/compare.go"); !exists(path) {
		t.Errorf("%s is not there", path)
	}
	dir := t.TempDir()
	if got := File(t, dir, "none"); got != dir {
		t.Errorf("got %s, want %s", got, dir)
	}
}

// TestSuite: a suite is found beside the checkout from every depth of it, and where SEXTANT_CONFORMANCE says.
func TestSuite(t *testing.T) {
	dir := t.TempDir()
	suite, deep := filepath.Join(dir, "shared", "conformance", "robots"), filepath.Join(dir, "sextant", "fetcher", "robots")
	for _, folder := range []string{suite, deep} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(deep)
	t.Setenv("CI", "true")
	t.Setenv("SEXTANT_CONFORMANCE", "")
	if got := Suite(t, "robots"); got != suite {
		t.Errorf("got %s, want %s", got, suite)
	}
	t.Chdir("/")
	t.Setenv("SEXTANT_CONFORMANCE", filepath.Dir(suite))
	if got := Suite(t, "robots"); got != suite {
		t.Errorf("got %s, want %s", got, suite)
	}
	t.Setenv("SEXTANT_CONFORMANCE", deep)
	if e := run(t, func(t testing.TB) { Suite(t, "robots") }); e.how != "failed" {
		t.Errorf("another folder: %+v", e)
	}
}
