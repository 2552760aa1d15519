package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// units returns those of packaging/systemd, with a program that is there on every machine
// in place of ours, and a user that is there.
func units(t *testing.T) []string {
	t.Helper()
	testneed.Program(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	var paths []string
	for name, as := range map[string]string{"sextant.service": "sextant.service", "sextant@.service": "sextant@docs.service"} {
		text := testdir.Read(t, filepath.Join("..", "..", "packaging", "systemd", name))
		replaced := strings.NewReplacer("/usr/bin/sextant", "/bin/true", "User=sextant", "User=daemon", "Group=sextant", "Group=daemon").Replace(string(text))
		path := filepath.Join(dir, as)
		testdir.Write(t, path, replaced)
		paths = append(paths, path)
	}
	return paths
}

func analyze(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestUnits has systemd read the units, which complains of each setting that it does not
// know, and rate how much they leave open.
func TestUnits(t *testing.T) {
	// In tenths. What the rest is for: addresses to reach, a root file system with
	// certificates, and memory for compiled PDFium.
	const threshold = "15"
	for _, path := range units(t) {
		if out := analyze(t, "verify", "--man=no", path); out != "" {
			t.Errorf("%s:\n%s", path, out)
		}
		analyze(t, "security", "--offline=true", "--no-pager", "--threshold="+threshold, path)
	}
}

// TestBrowserUnits has systemd read what starts browsers.
func TestBrowserUnits(t *testing.T) {
	testneed.Program(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	var paths []string
	for name, as := range map[string]string{"sextant-browser.socket": "sextant-browser.socket", "sextant-browser@.service": "sextant-browser@.service"} {
		text := testdir.Read(t, filepath.Join("..", "..", "packaging", "systemd", name))
		path := filepath.Join(dir, as)
		testdir.Write(t, path, strings.Replace(string(text), "SocketUser=sextant", "SocketUser=daemon", 1))
		paths = append(paths, path)
	}
	if out := analyze(t, append([]string{"verify", "--man=no"}, paths...)...); out != "" {
		t.Error(out)
	}
}

// TestUnitTemplate wants the template to be the unit but for its name and places.
func TestUnitTemplate(t *testing.T) {
	read := func(name string) []string {
		text := testdir.Read(t, filepath.Join("..", "..", "packaging", "systemd", name))
		var settings []string
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				settings = append(settings, line)
			}
		}
		return settings
	}
	one, template := read("sextant.service"), read("sextant@.service")
	if len(one) != len(template) {
		t.Fatalf("%d settings and %d", len(one), len(template))
	}
	for i, line := range template {
		if line = strings.NewReplacer(" %i", "", "/%i", "", "-%i", "").Replace(line); line != one[i] {
			t.Errorf("%q is %q in the template", one[i], template[i])
		}
	}
}
