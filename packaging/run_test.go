package packaging

import (
	"encoding/xml"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// TestDemo lets the programs of both architectures crawl the sample site, the foreign
// one under qemu.
func TestDemo(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			program := filepath.Join(dist(t), "linux_"+arch, "sextant")
			name, args := program, []string{}
			if arch != runtime.GOARCH {
				name = "qemu-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch] + "-static"
				testneed.Program(t, name, "qemu-user-static")
				args = []string{program}
			}
			checkDemo(t, ran(t, name, append(args, "demo", "--once")...))
		})
	}
}

// checkDemo wants documents indexed; that the indexer has them all is checked by demo.
func checkDemo(t *testing.T, said string) {
	t.Helper()
	_, rest, _ := strings.Cut(said, " pages crawled, ")
	n, _, _ := strings.Cut(rest, " ")
	if documents, err := strconv.Atoi(n); err != nil || documents == 0 {
		t.Errorf("demo says %q", said)
	}
}

// installed is a folder that a dpkg of its own manages.
type installed struct {
	t    *testing.T
	root string
}

func newInstalled(t *testing.T) installed {
	t.Helper()
	testneed.Program(t, "dpkg", "dpkg")
	testneed.Program(t, "systemd-sysusers", "systemd")
	if os.Geteuid() != 0 {
		t.Skip("only root can install a package")
	}
	i := installed{t, t.TempDir()}
	for _, name := range []string{"var/lib/dpkg/info/", "var/lib/dpkg/updates/", "etc/passwd", "etc/group", "var/lib/dpkg/status"} {
		path := filepath.Join(i.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// dpkg runs it on the folder; the scripts of packages run outside, with DPKG_ROOT set.
func (i installed) dpkg(args ...string) string {
	i.t.Helper()
	args = append([]string{"--root=" + i.root, "--force-script-chrootless", "--force-depends", "--log=/dev/null"}, args...)
	return ran(i.t, "dpkg", args...)
}

func (i installed) path(name string) string { return filepath.Join(i.root, name) }

func (i installed) exists(name string) bool {
	_, err := os.Lstat(i.path(name))
	return err == nil
}

func (i installed) want(name string, mode fs.FileMode) {
	i.t.Helper()
	info, err := os.Stat(i.path(name))
	if err != nil {
		i.t.Error(err)
		return
	}
	if info.Mode().Perm() != mode {
		i.t.Errorf("%s has mode %o, not %o", name, info.Mode().Perm(), mode)
	}
}

// TestInstall installs, uses, replaces, removes and purges the package.
func TestInstall(t *testing.T) {
	i := newInstalled(t)
	file := deb(t, runtime.GOARCH)
	if said := i.dpkg("-i", file); !strings.Contains(said, "sextant check -c /etc/sextant") {
		t.Errorf("installing does not say what comes next:\n%s", said)
	}
	i.want("etc/sextant", 0o750)
	i.want("etc/sextant/CrawlConfig.xml", 0o640)
	i.want("etc/default/sextant", 0o600)
	i.want("var/lib/sextant", 0o750)
	info, err := os.Stat(i.path("var/lib/sextant"))
	if err != nil {
		t.Fatal(err)
	}
	passwd := testdir.Read(t, i.path("etc/passwd"))
	owner := strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid))
	if !strings.Contains(string(passwd), "sextant:x:"+owner+":") {
		t.Errorf("the data directory belongs to %s; users are\n%s", owner, passwd)
	}
	if i.exists("etc/systemd/system/multi-user.target.wants/sextant.service") {
		t.Error("the service is enabled before it is configured")
	}

	program := i.path("usr/bin/sextant")
	ran(t, program, "check", "-c", i.path("etc/sextant"))
	checkDemo(t, ran(t, program, "demo", "--once"))
	ran(t, "man", "--warnings", "-l", i.path("usr/share/man/man8/sextant.service.8.gz"))

	// The operator's own configuration and data outlive a new version and removal.
	own := `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21"><Crawler name="mine"/></CrawlConfig>`
	for name, text := range map[string]string{"etc/sextant/CrawlConfig.xml": own, "var/lib/sextant/kept": "data"} {
		testdir.Write(t, i.path(name), text)
	}
	i.dpkg("-i", file)
	i.dpkg("-r", "sextant")
	if got, err := os.ReadFile(i.path("etc/sextant/CrawlConfig.xml")); string(got) != own || !i.exists("var/lib/sextant/kept") {
		t.Errorf("removal leaves %q, %v, and data: %v", got, err, i.exists("var/lib/sextant/kept"))
	}
	if i.exists("usr/bin/sextant") {
		t.Error("removal leaves the program")
	}
	if said := i.dpkg("-P", "sextant"); !strings.Contains(said, "removing the crawl's data in /var/lib/sextant") {
		t.Errorf("purging does not say that data goes:\n%s", said)
	}
	for _, name := range []string{"var/lib/sextant", "var/log/sextant", "etc/sextant/CrawlConfig.xml", "etc/default/sextant"} {
		if i.exists(name) {
			t.Errorf("purging leaves %s", name)
		}
	}
}

// TestStartingPoint wants the installed configuration to be well-formed, and to crawl as
// soon as the root in its comment is uncommented.
func TestStartingPoint(t *testing.T) {
	text := testdir.Read(t, filepath.Join("deb", "CrawlConfig.xml"))
	if err := xml.Unmarshal(text, new(struct{})); err != nil {
		t.Error(err)
	}
	program := filepath.Join(dist(t), "linux_"+runtime.GOARCH, "sextant")
	for _, part := range []string{`<Root url="https://www.example.com/"/>`, `<Push kind="papi" url="http://127.0.0.1:10002" connector="main"/>`} {
		edited := strings.Replace(string(text), "<!-- "+part+" -->", part, 1)
		if edited == string(text) {
			t.Errorf("%s is not in a comment of its own", part)
		}
		text = []byte(edited)
	}
	file := filepath.Join(t.TempDir(), "CrawlConfig.xml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := ran(t, program, "check", "-c", file); !strings.Contains(said, "1 root") {
		t.Errorf("check says %q", said)
	}
}

// TestContainer lays out the image's file system and runs the demo in it as the image's
// user, with nothing else there. Reading documents needs /proc, which engines mount.
func TestContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root directory")
	}
	const certificates = "/etc/ssl/certs/ca-certificates.crt"
	testneed.File(t, certificates, "ca-certificates")
	root := filepath.Join(t.TempDir(), "rootfs")
	ran(t, filepath.Join("container", "rootfs"), filepath.Join(dist(t), "linux_"+runtime.GOARCH, "sextant"), certificates, root)
	inside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/usr/bin/sextant", args...)
		cmd.Dir = "/data"
		cmd.Env = []string{"SEXTANT_CONFIG=/etc/sextant", "SEXTANT_DATA=/data"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	out, err := inside("demo", "--once").CombinedOutput()
	if err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	checkDemo(t, string(out))
	config := testdir.Read(t, filepath.Join("deb", "CrawlConfig.xml"))
	if err := os.WriteFile(filepath.Join(root, "etc", "sextant", "CrawlConfig.xml"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := inside("status", "--ready").CombinedOutput(); err == nil || !strings.Contains(string(out), "no service is running on /data") {
		t.Errorf("the health check of a stopped container: %v\n%s", err, out)
	}
	// The configuration of the package names no site yet.
	if out, err := inside("run", "--once").CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing was crawled: there is no start URL") {
		t.Errorf("run: %v\n%s", err, out)
	}
}

// TestContainerfile wants what the image does to be what is tested here.
func TestContainerfile(t *testing.T) {
	text := testdir.Read(t, filepath.Join("container", "Containerfile"))
	_, image, _ := strings.Cut(string(text), "\nFROM scratch\n")
	for _, want := range []string{
		"COPY --from=build /rootfs/ /", "USER 65532:65532", "ENV SEXTANT_CONFIG=/etc/sextant SEXTANT_DATA=/data", "WORKDIR /data", "VOLUME /data",
		`HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["/usr/bin/sextant", "status", "--ready"]`,
		`ENTRYPOINT ["/usr/bin/sextant"]`, `CMD ["run"]`, `org.opencontainers.image.version="$VERSION"`,
	} {
		if !strings.Contains(image, want) {
			t.Errorf("the image has no %s", want)
		}
	}
	if strings.Count(image, "COPY") != 1 {
		t.Error("something is copied that the test's file system does not have")
	}
	compose := testdir.Read(t, filepath.Join("container", "compose.yaml"))
	// An image in the OCI format has no health check, so Compose has it, too.
	for _, want := range []string{`test: ["CMD", "/usr/bin/sextant", "status", "--ready"]`, "interval: 30s", "timeout: 10s", "start_period: 60s"} {
		if !strings.Contains(string(compose), want) {
			t.Errorf("compose.yaml has no %s", want)
		}
	}
}
