package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

var update = flag.Bool("update", false, "write what is found into testdata and docs")

// The case files hold CrawlConfig.xml, files that it names, variables ("env"),
// and what the report must say: "errors", "warnings" and "notes".
var reportSections = []string{"errors", "warnings", "notes"}

func TestBadFiles(t *testing.T) {
	runCases(t, "bad", func(t *testing.T, file *File, report Report) {
		if len(report.Errors) == 0 || file != nil {
			t.Errorf("accepted, and it must not be")
		}
	})
}

func TestGoodFiles(t *testing.T) {
	runCases(t, "good", func(t *testing.T, file *File, report Report) {
		if len(report.Errors) != 0 || file == nil {
			t.Fatalf("refused: %v", report.Err())
		}
	})
}

func runCases(t *testing.T, folder string, check func(*testing.T, *File, Report)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "config", folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			text := testdir.Read(t, path)
			a := parseArchive(string(text))
			file, report := parseCase(a)
			check(t, file, report)
			got := map[string]string{
				"errors": problemLines(report.Errors), "warnings": problemLines(report.Warnings), "notes": problemLines(report.Notes),
			}
			if *update {
				writeCase(t, path, a, got)
				return
			}
			for _, name := range reportSections {
				if diff := cmp.Diff(a.file(name), got[name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// parseCase parses CrawlConfig.xml of a case; its other files are all that
// there is outside of it.
func parseCase(a archive) (*File, Report) {
	files, env := make(map[string][]byte), make(map[string]string)
	for _, f := range a.files {
		files[f.name] = []byte(f.data)
	}
	for line := range strings.Lines(string(files["env"])) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	return Parse(FileName, files[FileName], mapLookups(files, env))
}

func mapLookups(files map[string][]byte, env map[string]string) Lookups {
	return Lookups{
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(path string) ([]byte, error) {
			if data, ok := files[path]; ok {
				return data, nil
			}
			return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOENT} // as the system says it
		},
		Exists: func(path string) bool {
			for name := range files {
				if name == path || filepath.Dir(name) == path {
					return true
				}
			}
			return false
		},
		Unrunnable: func(path string) string {
			if string(files[path]) == "unfit" {
				return "is not fit"
			}
			return ""
		},
	}
}

func problemLines(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

func writeCase(t *testing.T, path string, a archive, got map[string]string) {
	t.Helper()
	out := archive{comment: a.comment}
	for _, f := range a.files {
		if _, isReport := got[f.name]; !isReport {
			out.files = append(out.files, f)
		}
	}
	for _, name := range reportSections {
		if got[name] != "" {
			out.files = append(out.files, archiveFile{name, got[name]})
		}
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
