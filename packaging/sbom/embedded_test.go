package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// TestEmbedded: the module of this tree is the one that was looked at, each part has a
// text and each text a part, and all of them are in both lists.
func TestEmbedded(t *testing.T) {
	parts, err := embeddedIn(pdfium, moduleOf(t, "{{.Version}}"))
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pdfiumTexts.ReadDir("pdfium")
	if err != nil || len(texts) != len(parts) {
		t.Errorf("%d texts for %d parts, %v", len(texts), len(parts), err)
	}
	var bom, notices bytes.Buffer
	if err := writeBOM(&bom, &debug.BuildInfo{}, parts, "1.2.3", time.Unix(0, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	validate(t, bom.Bytes())
	if err := writeLicenses(&notices, parts); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if len(p.licenses) == 0 || len(p.files[0].text) < 400 {
			t.Errorf("%s: %v, %d bytes of text", p.path, p.licenses, len(p.files[0].text))
		}
		for _, id := range p.licenses {
			if !strings.Contains(bom.String(), `"`+id+`"`) {
				t.Errorf("%s: the bill does not name %s", p.path, id)
			}
		}
		if !strings.Contains(notices.String(), "\n"+p.path+" "+p.version+": ") || !strings.Contains(notices.String(), strings.TrimSpace(p.files[0].text)) {
			t.Errorf("%s is not in the notices", p.path)
		}
	}
	if _, err := embeddedIn(pdfium, "v1.99.0"); err == nil || !strings.Contains(err.Error(), "v1.99.0") {
		t.Errorf("another version of the module: %v", err)
	}
}

// TestEmbeddedShows: those that leave words in the WebAssembly are there, and those that
// only other builds of PDFium contain are not.
func TestEmbeddedShows(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join(moduleOf(t, "{{.Dir}}"), "webassembly", "pdfium.wasm"))
	if err != nil {
		t.Fatal(err)
	}
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

// moduleOf tells of the module that carries PDFium.
func moduleOf(t *testing.T, format string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, pdfium).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
