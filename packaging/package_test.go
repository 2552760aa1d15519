// Package packaging tests what make release leaves in dist/. Its tests skip where that
// folder is not there: building takes minutes on a cold cache.
package packaging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// dist returns the folder of the release under test.
func dist(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("DIST")
	if folder == "" {
		folder = filepath.Join("..", "dist")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "SHA256SUMS")); err != nil {
		testneed.Missing(t, "there is no release: make release builds one")
	}
	return folder
}

// only returns the one file in dist that matches.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func deb(t *testing.T, arch string) string { return only(t, "sextant_*_"+arch+".deb") }

// ran returns what a command that succeeds prints, on both outputs.
func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}

// TestBrowserUnit: the unit starts browsers with the flags that the program starts them with, so that neither
// has a wall that the other lacks.
func TestBrowserUnit(t *testing.T) {
	unit := testdir.Read(t, filepath.Join("systemd", "sextant-browser@.service"))
	var flags []string
	for _, m := range regexp.MustCompile(`(?m)^    "(--[^"]+)" \\$`).FindAllStringSubmatch(string(unit), -1) {
		flags = append(flags, m[1])
	}
	if !slices.Equal(flags, render.Flags()) {
		t.Errorf("the unit has\n%q, the program\n%q", flags, render.Flags())
	}
	if strings.Contains(string(unit), "--no-sandbox") || !strings.Contains(string(unit), "\nPrivateNetwork=yes\n") {
		t.Error("it lets the browser out")
	}
}

func TestContents(t *testing.T) {
	testneed.Program(t, "dpkg-deb", "dpkg")
	for _, arch := range []string{"amd64", "arm64"} {
		list := ran(t, "dpkg-deb", "-c", deb(t, arch))
		for _, want := range []string{
			"-rwxr-xr-x root/root .* ./usr/bin/sextant", "./usr/lib/systemd/system/sextant.service", "./usr/lib/systemd/system/sextant@.service", "./usr/lib/systemd/system/sextant-browser.socket", "./usr/lib/systemd/system/sextant-browser@.service", "./etc/sextant/CrawlConfig.xml", "./etc/default/sextant",
			"./etc/logrotate.d/sextant", "./usr/lib/sysusers.d/sextant.conf", "./usr/share/man/man1/sextant.1.gz", "./usr/share/man/man5/CrawlConfig.xml.5.gz",
			"./usr/share/man/man8/sextant.service.8.gz", "./usr/share/bash-completion/completions/sextant", "./usr/share/zsh/vendor-completions/_sextant",
			"./usr/share/fish/vendor_completions.d/sextant.fish", "./usr/share/sextant/crawl.v21.xsd", "./usr/share/sextant/actionrules.v21.xsd", "./usr/share/sextant/catalog.xml",
			"./usr/share/doc/sextant/copyright", "./usr/share/doc/sextant/changelog.gz", "./usr/share/doc/sextant/THIRD-PARTY.txt.gz",
			"./usr/share/doc/sextant/sbom.cdx.json.gz", "./usr/share/doc/sextant/docs/install.md", "./usr/share/doc/sextant/docs/configuration.md", "./usr/share/doc/sextant/examples/ibm/crawl.rules",
		} {
			if !regexp.MustCompile(`(?m)` + strings.ReplaceAll(want, "./", `\./`) + `$`).MatchString(list) {
				t.Errorf("%s: %s is not in the package", arch, want)
			}
		}
		if developers := regexp.MustCompile(`docs/(decisions|project)/.*`).FindString(list); developers != "" {
			t.Errorf("%s: the package has %s, which is for developers", arch, developers)
		}
		if foreign := regexp.MustCompile(`(?m)^.*(_test\.go| [^r][a-z]*/[a-z]+ ).*$`).FindString(list); foreign != "" {
			t.Errorf("%s: %s", arch, foreign)
		}
		info := ran(t, "dpkg-deb", "-I", deb(t, arch))
		if !strings.Contains(info, "Architecture: "+arch) {
			t.Errorf("%s is for another architecture:\n%s", deb(t, arch), info)
		}
		conffiles := strings.Fields(ran(t, "dpkg-deb", "-I", deb(t, arch), "conffiles"))
		if !slices.Equal(conffiles, []string{"/etc/default/sextant", "/etc/logrotate.d/sextant", "/etc/sextant/CrawlConfig.xml"}) {
			t.Errorf("%s: configuration files are %q", arch, conffiles)
		}
	}
}

func TestChecksums(t *testing.T) {
	folder := dist(t)
	sums := testdir.Read(t, filepath.Join(folder, "SHA256SUMS"))
	listed := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content := testdir.Read(t, filepath.Join(folder, name))
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("%s has %s, not %s", name, got, sum)
		}
		listed++
	}
	if listed != 6 {
		t.Errorf("%d files are listed, not three for each architecture:\n%s", listed, sums)
	}
}

func TestLintian(t *testing.T) {
	testneed.Program(t, "lintian", "lintian")
	if out, err := output(t.Context(), "lintian", "--fail-on", "error,warning", "--allow-root", deb(t, runtime.GOARCH)); err != nil {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}

// TestSameBytes builds program and package again, from another folder into another
// one.
func TestSameBytes(t *testing.T) {
	testneed.Program(t, "dpkg-deb", "dpkg")
	first := deb(t, runtime.GOARCH)
	epoch := strings.TrimSpace(ran(t, "sh", "-c", "dpkg-deb --ctrl-tarfile '"+first+"' | tar --full-time --utc -tvf - ./control | awk '{ print $4, $5 }' | xargs -I T date -u -d T +%s"))
	version, commit := versionOf(t, filepath.Join(dist(t), "linux_"+runtime.GOARCH, "sextant"))
	sources := t.TempDir()
	ran(t, "sh", "-c", "cd .. && git ls-files -co --exclude-standard -z | xargs -0 ls -d 2>/dev/null | tar -cf - -T - | tar -xf - -C '"+sources+"'")
	again := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(sources, "packaging", "deb", "build"), version, runtime.GOARCH)
	cmd.Env = append(os.Environ(), "DIST="+again, "SOURCE_DATE_EPOCH="+epoch, "SEXTANT_COMMIT="+commit, "PROFILE="+profileOf(t, filepath.Join(dist(t), "linux_"+runtime.GOARCH, "sextant")))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	one := testdir.Read(t, first)
	other := testdir.Read(t, strings.TrimSpace(string(out)))
	if !bytes.Equal(one, other) {
		t.Errorf("%s and %s differ; if the tree has changed since make release, run that again", first, strings.TrimSpace(string(out)))
	}
}

// profileOf returns the profile that a program was compiled by.
func profileOf(t *testing.T, program string) string {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if s.Key == "-pgo" {
			return filepath.Join("packaging", filepath.Base(s.Value))
		}
	}
	return "off"
}

// versionOf asks a program of this platform for its version and commit.
func versionOf(t *testing.T, program string) (version, commit string) {
	t.Helper()
	found := regexp.MustCompile(`^sextant (\S+) \((?:commit (\S+), )?`).FindStringSubmatch(ran(t, program, "version"))
	if found == nil {
		t.Fatal("version tells no version")
	}
	return found[1], found[2]
}
