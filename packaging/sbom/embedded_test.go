package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// pdfium is the module that carries PDFium as WebAssembly.
const pdfium = "github.com/klippa-app/go-pdfium"

// TestPDFiumsParts: each part in PDFium has a text, and each text a part.
func TestPDFiumsParts(t *testing.T) {
	file, err := held.ReadFile("embedded.cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Components []struct {
			Name       string
			Components []struct{ Name string }
		}
	}
	if err := json.Unmarshal(file, &bom); err != nil || bom.Components[0].Name != pdfium {
		t.Fatal(bom.Components[0].Name, err)
	}
	texts, err := held.ReadDir("pdfium")
	if err != nil {
		t.Fatal(err)
	}
	without := map[string]bool{}
	for _, c := range bom.Components[0].Components {
		without[c.Name] = true
	}
	parts := len(without)
	for _, e := range texts {
		name, _, _ := strings.Cut(e.Name(), ".")
		delete(without, name)
		if !bytes.Contains(file, []byte(`  {"type":"library","bom-ref":"pkg:generic/`+name)) {
			t.Errorf("%s is the text of no part", e.Name())
		}
	}
	if parts < 15 || len(without) > 0 {
		t.Errorf("%d parts, without a text: %v", parts, without)
	}
}

// TestPDFiumShows: those that leave words in the WebAssembly are there, and those that
// only other builds of PDFium contain are not.
func TestPDFiumShows(t *testing.T) {
	wasm := testdir.Read(t, filepath.Join(moduleOf(t, "{{.Dir}}", pdfium), "webassembly", "pdfium.wasm"))
	for name, c := range map[string]struct {
		words string
		there bool
	}{
		"pdfium":     {"FPDF_LoadMemDocument64", true},
		"emscripten": {"emscripten_notify_memory_growth", true},
		"freetype":   {"FREETYPE_PROPERTIES", true},
		"harfbuzz":   {"HB_FONT_FUNCS", true},
		"icu":        {"icudt78l", true},
		"lcms2":      {"Corrupted built-in profile", true},
		"llvm":       {"system/lib/libcxxabi", true},
		"openjpeg":   {"Malformed JP2 file format", true},
		"zlib":       {"incorrect header check", true},
		"brotli":     {"timedownlife", false},
		"libpng":     {"libpng", false},
		"libtiff":    {"TIFFReadDirectory", false},
		"v8":         {"ReferenceError", false},
	} {
		if bytes.Contains(wasm, []byte(c.words)) != c.there {
			t.Errorf("%s: %q is in the WebAssembly: %v is wanted", name, c.words, c.there)
		}
	}
}

// TestTextsAreUpstreams: each text is the one whose sum and place upstream are told.
func TestTextsAreUpstreams(t *testing.T) {
	table := testdir.Read(t, filepath.Join("pdfium", "UPSTREAM.md"))
	told := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+\.txt) \|.*\| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(table), -1) {
		told[m[1]] = m[2]
	}
	texts, err := held.ReadDir("pdfium")
	if err != nil || len(told) != len(texts) {
		t.Errorf("UPSTREAM.md tells of %d texts, there are %d, %v", len(told), len(texts), err)
	}
	for _, entry := range texts {
		text, err := held.ReadFile("pdfium/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); told[entry.Name()] != sum {
			t.Errorf("%s has the sum %s, UPSTREAM.md says %q: take it from upstream again", entry.Name(), sum, told[entry.Name()])
		}
	}
}

// TestScripts: embedded.cdx.json names each script of others in the console, as the table in
// VENDOR.md has them, and for the editor, which is bundled, the lock file of its packages.
func TestScripts(t *testing.T) {
	file, err := held.ReadFile("embedded.cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	console := filepath.Join("..", "..", "internal", "admin", "console")
	table := testdir.Read(t, filepath.Join(console, "static", "vendor", "VENDOR.md"))
	lock := testdir.Read(t, filepath.Join(console, "editor", "package-lock.json"))
	var locked struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(lock, &locked); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	want := func(name, version, license string) {
		url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version
		wanted[fmt.Sprintf(`{"type":"library","bom-ref":%q,"purl":%[1]q,"name":%q,"version":%q,"licenses":[{"license":{"id":%q}}]}`, url, name, version, license)] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\| \S+\.(?:js|css) \| ([^|,]+), dist[^|]* \| ([^|]+) \| ([^|,]+),`).FindAllStringSubmatch(string(table), -1) {
		want(m[1], m[2], m[3])
	}
	if len(wanted) != 2 {
		t.Errorf("VENDOR.md has %d scripts that are not bundled", len(wanted))
	}
	for path, p := range locked.Packages {
		if name, ok := strings.CutPrefix(path, "node_modules/"); ok && !p.Dev {
			want(name, p.Version, p.License)
		}
	}
	for line := range wanted {
		if !bytes.Contains(file, []byte(line)) {
			t.Errorf("embedded.cdx.json lacks\n%s", line)
		}
	}
	if n := bytes.Count(file, []byte(`"pkg:npm/`)) / 2; n != len(wanted) {
		t.Errorf("embedded.cdx.json has %d scripts, the console %d", n, len(wanted))
	}
	files, err := filepath.Glob(filepath.Join(console, "static", "vendor", "*.js"))
	if err != nil || len(files) != 3 {
		t.Errorf("%d scripts lie in the folder of others, error %v: each needs a row in VENDOR.md", len(files), err)
	}
}
