package browsertest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/push"
)

// sextant prepares the program, which ends with the test.
func sextant(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), program, args...)
}

// crawlConfigured crawls a site by a configuration, and returns the documents that it pushes to files, by their paths
// on the site, and what the program printed.
func crawlConfigured(t *testing.T, site, config string) (map[string]push.Document, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "CrawlConfig.xml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := sextant(t, "run", "--once", "--listen=off", "-c", path, "-d", filepath.Join(dir, "data")).CombinedOutput()
	if err != nil {
		t.Fatalf("run --once: %v\n%s", err, out)
	}
	got := map[string]push.Document{}
	for u, d := range fileDocuments(t, filepath.Join(dir, "data", "out")) {
		got[strings.TrimPrefix(u, site+"/")] = d
	}
	return got, string(out)
}

// fileDocuments replays the file target: the documents that stand at the end, by URL.
func fileDocuments(t *testing.T, dir string) map[string]push.Document {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	slices.Sort(files)
	documents := map[string]push.Document{}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(content) {
			var order struct {
				Op       string
				Document push.Document
				Deletion push.Deletion
			}
			if err := json.Unmarshal(line, &order); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if order.Op == "add" {
				documents[order.Document.URL] = order.Document
			} else {
				delete(documents, order.Deletion.URL)
			}
		}
	}
	return documents
}
