package packaging

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// TestVersions names trees before a tag, at it, behind it and changed, and has dpkg sort them.
func TestVersions(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	script := func(name, argument string) string {
		t.Helper()
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), path, argument).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func() { git("commit", "-q", "--allow-empty", "-m", "a") }
	git("init", "-q")
	commit()
	versions := []string{script("version", dir)}
	git("tag", "v0.1.0")
	versions = append(versions, script("version", dir))
	commit()
	versions = append(versions, script("version", dir))
	git("tag", "v0.1.1-rc1")
	versions = append(versions, script("version", dir))
	commit()
	git("tag", "v0.1.1")
	versions = append(versions, script("version", dir))
	for i, want := range []string{`^0~\d{8}\.g[0-9a-f]+$`, `^v0\.1\.0$`, `^0\.1\.0\+1\.g[0-9a-f]+$`, `^v0\.1\.1-rc1$`, `^v0\.1\.1$`} {
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
