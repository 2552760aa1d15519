// Package testneed finds what a test needs on the machine: programs, files, test suites. A test without them is skipped
// on a developer's machine. Under continuous integration, with CI=true, it fails: a renamed or forgotten Debian package
// must not turn tests off.
package testneed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Missing ends the test for a missing requirement: it skips, and fails with CI=true. Its arguments describe what is
// missing and where it comes from.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Program returns the path of a program. It also searches folders that Debian keeps out of an ordinary user's PATH.
func Program(t testing.TB, name, debianPackage string) string {
	t.Helper()
	path := find(name)
	if path == "" {
		Missing(t, "%s is not installed: apt-get install %s", name, debianPackage)
	}
	return path
}

// find returns the path of a program, or "".
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range []string{"/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path
		}
	}
	return ""
}

// Browser returns the path of Chromium or a browser like it; SEXTANT_CHROMIUM names another one.
func Browser(t testing.TB) string {
	t.Helper()
	path := FindBrowser()
	if path == "" {
		NoBrowser(t)
	}
	return path
}

// FindBrowser is Browser for a TestMain: it returns "" if there is no browser. The tests then call NoBrowser.
func FindBrowser() string {
	names := []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"}
	if s := os.Getenv("SEXTANT_CHROMIUM"); s != "" {
		names = []string{s}
	}
	for _, name := range names {
		if path := find(name); path != "" {
			return path
		}
	}
	return ""
}

// NoBrowser ends a test that needs a browser.
func NoBrowser(t testing.TB) {
	t.Helper()
	Missing(t, "there is no Chromium: apt-get install chromium, or name a browser by SEXTANT_CHROMIUM")
}

// File returns path, a file or folder that a Debian package installs.
func File(t testing.TB, path, debianPackage string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		Missing(t, "%v: apt-get install %s", err, debianPackage)
	}
	return path
}

// Module returns the path of a file or folder in the source of a module that go.mod requires. Tests read test suites
// there, since every build has it in the module cache.
func Module(t testing.TB, module, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		Missing(t, "the source of %s is not in the module cache (%v): go mod download %[1]s", module, err)
	}
	path = filepath.Join(dir, filepath.FromSlash(path))
	if _, err := os.Stat(path); err != nil {
		Missing(t, "%s has no such file: %v", module, err)
	}
	return path
}

// Suite returns the path of a file or folder of the public conformance suites that no module contains. They are in the
// folder that SEXTANT_CONFORMANCE names, or in shared/conformance beside the checkout or further up; CONTRIBUTING.md
// has their sources.
func Suite(t testing.TB, path string) string {
	t.Helper()
	path = filepath.FromSlash(path)
	if dir := os.Getenv("SEXTANT_CONFORMANCE"); dir != "" {
		path = filepath.Join(dir, path)
		if _, err := os.Stat(path); err != nil {
			Missing(t, "SEXTANT_CONFORMANCE names a folder that lacks this suite: %v", err)
		}
		return path
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if found := filepath.Join(dir, "shared", "conformance", path); exists(found) {
			return found
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		Missing(t, "the conformance suite %s is neither in shared/conformance beside the checkout nor in "+
			"SEXTANT_CONFORMANCE: CONTRIBUTING.md describes its source", path)
		return ""
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
