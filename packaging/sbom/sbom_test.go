package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// builtSBOM builds a small program of several modules, this one, and says what is in it.
func builtSBOM(t *testing.T) (bom []byte, licenses string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	bomFile, licenseFile := filepath.Join(dir, "bom"), filepath.Join(dir, "licenses")
	if err := run(t.Context(), []string{"-program", program, "-version", "1.2.3", "-bom", bomFile, "-licenses", licenseFile}, io.Discard); err != nil {
		t.Fatal(err)
	}
	return testdir.Read(t, bomFile), string(testdir.Read(t, licenseFile))
}

func TestSBOM(t *testing.T) {
	bom, licenses := builtSBOM(t)
	again, _ := builtSBOM(t)
	if !bytes.Equal(bom, again) {
		t.Error("two runs differ")
	}
	validate(t, bom)
	var decoded cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(bom), cyclonedx.BOMFileFormatJSON).Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	if got := decoded.Metadata; got.Component.Name != "github.com/sextant-crawler/sextant" || got.Component.Version != "1.2.3" || got.Timestamp != "1970-01-02T00:00:00Z" {
		t.Errorf("the program is %s %s of %s", got.Component.Name, got.Component.Version, got.Timestamp)
	}
	i := slices.IndexFunc(*decoded.Components, func(c cyclonedx.Component) bool { return c.Name == "github.com/CycloneDX/cyclonedx-go" })
	if i < 0 {
		t.Fatalf("a module is missing among %d", len(*decoded.Components))
	}
	c := (*decoded.Components)[i]
	if c.PackageURL != "pkg:golang/github.com/CycloneDX/cyclonedx-go@"+c.Version || len(*c.Hashes) != 1 || (*c.Licenses)[0].License.ID != "Apache-2.0" {
		t.Errorf("the module is told of as %+v", c)
	}
	for _, want := range []string{"github.com/CycloneDX/cyclonedx-go " + c.Version + ": Apache-2.0\n", "Copyright OWASP Foundation", "Copyright 2009 The Go Authors."} {
		if !strings.Contains(licenses, want) {
			t.Errorf("%q is not in the licences", want)
		}
	}
}

// validate checks against the schema of the format's authors, which their module carries.
func validate(t *testing.T, bom []byte) {
	t.Helper()
	folder := filepath.Join(moduleOf(t, "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go"), "schema")
	compiler := jsonschema.NewCompiler()
	for url, name := range map[string]string{
		"http://cyclonedx.org/schema/bom-1.6.schema.json":  "bom-1.6.schema.json",
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(f)
		if err := compiler.AddResource(url, document); err != nil {
			t.Fatal(err)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var instance any
	if err := json.Unmarshal(bom, &instance); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(instance); err != nil {
		t.Error(err)
	}
	instance.(map[string]any)["components"].([]any)[0].(map[string]any)["type"] = "nonsense"
	if schema.Validate(instance) == nil {
		t.Error("the schema takes anything")
	}
}

// moduleOf asks Go about a module of this tree.
func moduleOf(t *testing.T, format, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// crawler returns what a sextant that is built for linux and arch would say of itself, without building it.
func crawler(t *testing.T, arch string) *debug.BuildInfo {
	t.Helper()
	info := &debug.BuildInfo{GoVersion: runtime.Version(), Path: "github.com/sextant-crawler/sextant/cmd/sextant"}
	info.Settings = []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}, {Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: arch}}
	info.Main.Path = "github.com/sextant-crawler/sextant"
	folders, err := foldersOf(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(moduleOf(t, "{{.Path}} {{.Version}}", "all")) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if folders[path] != nil && path != info.Main.Path {
			info.Deps = append(info.Deps, &debug.Module{Path: path, Version: version})
		}
	}
	return info
}

// TestCrawler: somebody has looked at the licences of all that the crawler links, and the bill and
// the notices name each part, those inside of PDFium and the console included.
func TestCrawler(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) { checkCrawler(t, crawler(t, arch)) })
	}
}

func checkCrawler(t *testing.T, info *debug.BuildInfo) {
	t.Helper()
	parts, texts, err := partsOf(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	var bom bytes.Buffer
	if err := writeBOM(&bom, info, parts, "1.2.3", time.Unix(0, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	validate(t, bom.Bytes())
	notices := noticesOf(parts, texts)
	for _, want := range []string{
		"\n  freetype as in PDFium 7789: FTL\n", "\n  icu 78: Unicode-3.0\n", "\nhtmx.org 2.", "\ngithub.com/gogs/chardet v0.0.0-20211120154057-b7413eaefb8f: ICU, MIT\n",
		"\nin PDFium: freetype\n", "The FreeType Project LICENSE", "\nin the console: codemirror.LICENSE.txt\n", "\nstd 1.2",
	} {
		if !strings.Contains(notices, want) {
			t.Errorf("%q is not in the notices", want)
		}
	}
	if len(parts) < 80 || len(texts) < 100 {
		t.Errorf("%d parts with %d texts", len(parts), len(texts))
	}

	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == pdfium })
	info.Deps[i].Version = "v1.99.0"
	if _, _, err := partsOf(t.Context(), info); err == nil || !strings.Contains(err.Error(), "v1.99.0") {
		t.Errorf("another version of PDFium's module: %v", err)
	}
}

// TestUnknownModuleIsAnError takes a program whose modules are not those of its sources.
func TestUnknownModuleIsAnError(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	info.Path = "github.com/sextant-crawler/sextant/packaging/sbom"
	info.Deps[0].Path = "example.com/gone"
	if _, _, err := partsOf(t.Context(), info); err == nil || !strings.Contains(err.Error(), "example.com/gone") {
		t.Errorf("an error about example.com/gone is wanted, not %v", err)
	}
}

// TestUnknownTextIsAnError: the error is the row that is wanted.
func TestUnknownTextIsAnError(t *testing.T) {
	seen, unseen := text{"a v1, LICENSE", "You may."}, text{"b v1, LICENSE", "All rights reserved. You may look."}
	g := grants{fmt.Sprintf("%x", sha256.Sum256([]byte(seen.body))): {"MIT"}}
	if ids, err := g.of([]text{seen}); err != nil || !slices.Equal(ids, []string{"MIT"}) {
		t.Errorf("%q, %v", ids, err)
	}
	want := fmt.Sprintf("%x  LICENCES  b v1, LICENSE", sha256.Sum256([]byte(unseen.body)))
	if _, err := g.of([]text{seen, unseen}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want the row %s", err, want)
	}
}

func TestTextsIn(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"LICENSE", "NOTICE.txt", "license.go", "icu-license.html", "a/README", "a/b/COPYING", "c/LICENSE"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o750); err != nil {
			t.Fatal(err)
		}
		testdir.Write(t, filepath.Join(root, name), name)
	}
	texts, err := textsIn("m v1", []string{root, filepath.Join(root, "a", "b")})
	if err != nil {
		t.Fatal(err)
	}
	// c is not linked.
	want := []text{{"m v1, LICENSE", "LICENSE"}, {"m v1, NOTICE.txt", "NOTICE.txt"}, {"m v1, a/b/COPYING", "a/b/COPYING"}, {"m v1, icu-license.html", "icu-license.html"}}
	if !slices.Equal(want, texts) {
		t.Error(cmp.Diff(fmt.Sprint(want), fmt.Sprint(texts)))
	}
}

func TestTimeIsWanted(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "today")
	if err := run(t.Context(), []string{"-program", "p", "-version", "1", "-bom", "b", "-licenses", "l"}, io.Discard); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("today is taken: %v", err)
	}
}
