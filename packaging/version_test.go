package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// TestVersions names trees without git, before a tag, at it, behind it, and before the next one, and has
// dpkg sort them.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		ran(t, "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	}
	script := func(name, argument string) string {
		t.Helper()
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(ran(t, path, argument))
	}
	number := func(v string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "cmd", "sextant"), 0o700); err != nil {
			t.Fatal(err)
		}
		testdir.Write(t, filepath.Join(dir, "cmd", "sextant", "VERSION"), v+"\n")
	}
	commit := func() {
		git("add", ".")
		git("commit", "-q", "--allow-empty", "-m", "a")
	}
	number("0.1.0")
	versions := []string{script("version", dir)}
	git("init", "-q")
	commit()
	versions = append(versions, script("version", dir))
	git("tag", "v0.1.0")
	versions = append(versions, script("version", dir))
	commit()
	versions = append(versions, script("version", dir))
	number("0.1.1-rc1")
	git("tag", "v0.1.1-rc1")
	versions = append(versions, script("version", dir))
	commit()
	number("0.1.1")
	commit()
	git("tag", "v0.1.1")
	versions = append(versions, script("version", dir))
	for i, want := range []string{
		`^0\.1\.0-dev$`, `^0\.1\.0-dev\.\d{8}\.g[0-9a-f]+$`, `^0\.1\.0$`, `^0\.1\.0\+1\.g[0-9a-f]+$`,
		`^0\.1\.1-rc1\+0\.g[0-9a-f]+\.dirty$`, `^0\.1\.1$`,
	} {
		if !regexp.MustCompile(want).MatchString(versions[i]) {
			t.Errorf("version %s, want %s", versions[i], want)
		}
	}
	if got := script("deb/version", "28aa185"); got != "0~28aa185" {
		t.Errorf("the number of a commit becomes %s", got)
	}
	testneed.Program(t, "dpkg", "dpkg")
	for i := range len(versions) - 1 {
		a, b := script("deb/version", versions[i]), script("deb/version", versions[i+1])
		if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", a, "lt", b).Run(); err != nil {
			t.Errorf("dpkg does not sort %s before %s", a, b)
		}
	}
}

// TestChangelogHasVersion: the version that cmd/sextant/VERSION names is the newest one that CHANGELOG.md tells of.
func TestChangelogHasVersion(t *testing.T) {
	version := testdir.Read(t, filepath.Join("..", "cmd", "sextant", "VERSION"))
	changes := testdir.Read(t, filepath.Join("..", "CHANGELOG.md"))
	newest := regexp.MustCompile(`(?m)^## (\d\S*)`).FindSubmatch(changes)
	if newest == nil || string(newest[1]) != strings.TrimSpace(string(version)) {
		t.Errorf("CHANGELOG.md has %q first, VERSION has %q", newest, version)
	}
}
