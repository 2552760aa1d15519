package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
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
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, p := range parts {
		used += len(p.files)
	}
	if len(texts) != used {
		t.Errorf("%d texts, of which parts have %d", len(texts), used)
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

// TestTextsAreUpstreams: each text is the one whose sum and place upstream are told.
func TestTextsAreUpstreams(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("pdfium", "UPSTREAM.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+\.txt) \|.*\| ([0-9a-f]{64}) \|$`).FindAllStringSubmatch(string(table), -1) {
		told[m[1]] = m[2]
	}
	texts, err := pdfiumTexts.ReadDir("pdfium")
	if err != nil || len(told) != len(texts) {
		t.Errorf("UPSTREAM.md tells of %d texts, there are %d, %v", len(told), len(texts), err)
	}
	for _, entry := range texts {
		text, err := pdfiumTexts.ReadFile("pdfium/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); told[entry.Name()] != sum {
			t.Errorf("%s has the sum %s, UPSTREAM.md says %q: take it from upstream again", entry.Name(), sum, told[entry.Name()])
		}
	}
}

var updateSums = flag.Bool("update", false, "write the sums of the modules' licences again")

// TestLicensesOfModules: the licences that the module cache holds of what the program links
// are those that somebody looked at (licenses.sum), and all of a module that came since are
// of a kind that is known here.
func TestLicensesOfModules(t *testing.T) {
	const sums = "licenses.sum"
	looked := map[string]string{}
	if text, err := os.ReadFile(sums); err == nil {
		for line := range strings.Lines(string(text)) {
			sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
			looked[file] = sum
		}
	} else if !*updateSums {
		t.Fatal(err)
	}
	var b strings.Builder
	for name, texts := range moduleLicenses(t) {
		kinds := ""
		for _, f := range texts {
			kinds += strings.Join(identify(f.text), " ")
			file, sum := name+" "+filepath.ToSlash(f.name), fmt.Sprintf("%x", sha256.Sum256([]byte(f.text)))
			fmt.Fprintf(&b, "%s  %s\n", sum, file)
			if was := looked[file]; was != "" && was != sum && !*updateSums {
				t.Errorf("%s has changed: look at it, then go test ./packaging/sbom -run Modules -update", file)
			}
		}
		if kinds == "" {
			t.Errorf("%s has no licence that is known here", name)
		}
	}
	if len(looked) < 80 && !*updateSums {
		t.Errorf("only %d sums are read", len(looked))
	}
	if *updateSums {
		lines := slices.Sorted(strings.Lines(b.String()))
		slices.SortFunc(lines, func(x, y string) int { return strings.Compare(x[66:], y[66:]) })
		if err := os.WriteFile(sums, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// moduleLicenses are the licence files of all modules that the program links, by the
// module's path.
func moduleLicenses(t *testing.T) map[string][]licenseFile {
	t.Helper()
	packages, err := listPackages(t.Context(), &debug.BuildInfo{Path: "github.com/sextant-crawler/sextant/cmd/sextant"})
	if err != nil {
		t.Fatal(err)
	}
	roots, folders := map[string]string{}, map[string][]string{}
	for _, p := range packages {
		if p.Module != nil && !p.Module.Main {
			roots[p.Module.Path] = p.Module.Dir
			folders[p.Module.Path] = append(folders[p.Module.Path], p.Dir)
		}
	}
	all := map[string][]licenseFile{}
	for path, root := range roots {
		if all[path], err = licensesIn(root, folders[path]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
