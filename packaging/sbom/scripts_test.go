package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScripts: every script of others in the console is a part, with version, licence and
// its text.
func TestScripts(t *testing.T) {
	folder := filepath.Join("..", "..", filepath.FromSlash(consolePackage))
	parts, err := scriptsIn(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]part{}
	for _, p := range parts {
		found[p.path] = p
		if p.version == "" || len(p.licenses) != 1 || len(p.files) != 1 || !strings.Contains(strings.ToLower(p.files[0].text), "permission") {
			t.Errorf("%s: version %q, licences %q, %d texts", p.path, p.version, p.licenses, len(p.files))
		}
	}
	for _, name := range []string{"htmx.org", "uplot", "@codemirror/view", "@lezer/xml", "style-mod"} {
		if found[name].url == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if p := found["@codemirror/view"]; !strings.HasPrefix(p.url, "pkg:npm/%40codemirror/view@6.") {
		t.Errorf("its URL is %q", p.url)
	}
	files, err := filepath.Glob(filepath.Join(folder, "static", "vendor", "*.js"))
	if err != nil || len(files) != 3 {
		t.Errorf("%d scripts lie in the folder of others, error %v: each needs a row in VENDOR.md", len(files), err)
	}
}

// TestScriptsWithoutTable: what is not understood is an error, not an empty list.
func TestScriptsWithoutTable(t *testing.T) {
	folder := t.TempDir()
	if _, err := scriptsIn(folder); err == nil {
		t.Error("a folder without a table is taken")
	}
	if err := os.MkdirAll(filepath.Join(folder, "static", "vendor"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "static", "vendor", "VENDOR.md"), []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := scriptsIn(folder); err == nil || !strings.Contains(err.Error(), "no scripts are found") {
		t.Errorf("an empty table: %v", err)
	}
}
