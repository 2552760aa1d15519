package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// printed returns what the program writes to stdout for a command line that succeeds.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), append([]string{"sextant"}, args...), strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("sextant %s: exit code %d: %s", strings.Join(args, " "), code, &stderr)
	}
	return stdout.String()
}

// TestReferenceIsWhole compares with the definition, by other means than reference uses.
func TestReferenceIsWhole(t *testing.T) {
	app := newApp(nil, nil, nil)
	listed := map[string][]string{}
	for _, c := range manual.Reference(app) {
		for _, f := range c.Flags {
			listed[c.Name] = append(listed[c.Name], f.Names...)
		}
	}
	for _, c := range app.Commands {
		if c.Hidden {
			if _, found := listed[c.Name]; found {
				t.Errorf("%s is hidden, and told of", c.Name)
			}
			continue
		}
		for _, f := range c.Flags {
			for _, name := range f.Names() {
				want := "--" + name
				if len(name) == 1 {
					want = "-" + name
				}
				if name != "help" && name != "h" && !slices.Contains(listed[c.Name], want) {
					t.Errorf("%s %s is missing", c.Name, want)
				}
			}
		}
	}
}

// TestManualTellsAll wants every command with a heading, and in its part, or among the
// common ones, every flag.
func TestManualTellsAll(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	page := strings.ReplaceAll(printed(t, "man"), `\-`, "-")
	if !strings.HasPrefix(page, `.TH SEXTANT 1 1970-01-02 "sextant `) {
		t.Errorf("the page begins with %.80q", page)
	}
	commonPart := page[strings.Index(page, `.SH "COMMON OPTIONS"`):]
	for _, c := range manual.Reference(newApp(nil, nil, nil)) {
		_, part, found := strings.Cut(page, `.SS "`+strings.TrimSpace("sextant "+c.Name+" "+c.Arguments)+`"`)
		if !found {
			t.Errorf("%s has no heading", c.Name)
			continue
		}
		part, _, _ = strings.Cut(part, "\n.S")
		for _, f := range c.Flags {
			term := `.B "` + strings.Join(f.Names, ", ")
			if manual.IsCommon(f) {
				if !strings.Contains(commonPart, term) || !strings.Contains(strings.Join(strings.Fields(part), " "), f.Names[0]) {
					t.Errorf("%s: the common option %s is not told of", c.Name, f.Names[0])
				}
				continue
			}
			if !strings.Contains(part, term) {
				t.Errorf("%s: %s is not told of", c.Name, f.Names[0])
			}
			for _, v := range f.Variables {
				if !strings.Contains(part, v) {
					t.Errorf("%s: the variable %s is not told of", c.Name, v)
				}
			}
		}
	}
}

// TestManualIsClean asks mandoc, and man, for what they find wrong.
func TestManualIsClean(t *testing.T) {
	page := filepath.Join(t.TempDir(), "sextant.1")
	testdir.Write(t, page, printed(t, "man"))
	for _, checker := range []struct {
		name, debianPackage string
		args                []string
	}{
		{"mandoc", "mandoc", []string{"-Tlint", page}},
		{"man", "man-db", []string{"--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page}},
	} {
		t.Run(checker.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), testneed.Program(t, checker.name, checker.debianPackage), checker.args...)
			var said bytes.Buffer
			cmd.Stderr = &said
			if checker.name == "mandoc" {
				cmd.Stdout = &said
			}
			if err := cmd.Run(); err != nil || said.Len() > 0 {
				t.Errorf("%v\n%s", err, &said)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	var got buildInfo
	if err := json.Unmarshal([]byte(printed(t, "version", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version == "" || got.Go != runtime.Version() || got.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("version --json: %+v", got)
	}
	for _, args := range [][]string{{"version"}, {"--version"}} {
		words := printed(t, args...)
		for _, want := range []string{"sextant ", got.Version, got.Commit, got.Go, got.Platform} {
			if !strings.Contains(words, want) {
				t.Errorf("%v: %q does not tell %q", args, words, want)
			}
		}
	}
}
