// Package testrun runs the program with a configuration and reads what it has pushed to files.
package testrun

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/push"
)

// Once crawls a site with a configuration that pushes to files. It returns the documents by their paths on the site,
// and the program's output. command prepares the program with arguments.
func Once(
	t testing.TB, command func(args ...string) *exec.Cmd, site, config string,
) (documents map[string]push.Document, out string) {
	t.Helper()
	dir := t.TempDir()
	path, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	testdir.Write(t, path, config)
	printed, err := command("run", "--once", "--listen=off", "-c", path, "-d", data).CombinedOutput()
	if err != nil {
		t.Fatalf("run --once: %v\n%s", err, printed)
	}
	documents = map[string]push.Document{}
	for u, d := range Documents(t, filepath.Join(data, "out")) {
		documents[strings.TrimPrefix(u, site+"/")] = d
	}
	return documents, string(printed)
}

// Order is a line of the file target.
type Order struct {
	Op       string
	Document push.Document
	Deletion push.Deletion
}

// Orders reads the files of a file target in a folder.
func Orders(t testing.TB, dir string) (all []Order) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	slices.Sort(files)
	for _, name := range files {
		for line := range bytes.Lines(testdir.Read(t, name)) {
			var o Order
			if err := json.Unmarshal(line, &o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, o)
		}
	}
	return all
}

// Documents replays the file target and returns the documents that remain at the end, by URL.
func Documents(t testing.TB, dir string) map[string]push.Document {
	t.Helper()
	documents := map[string]push.Document{}
	for _, o := range Orders(t, dir) {
		if o.Op == "add" {
			documents[o.Document.URL] = o.Document
		} else {
			delete(documents, o.Deletion.URL)
		}
	}
	return documents
}
