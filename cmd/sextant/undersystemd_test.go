package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

const systemdConfig = `<CrawlConfig>
  <Crawler name="docs" nthreads="2" throttleTimeMS="20" crawlLog="/var/log/sextant/crawl.log"><Root url="%s/"/></Crawler>
</CrawlConfig>
`

// TestUnderSystemd runs the unit under a systemd that is process 1 of namespaces of its
// own, and does with it what testdata/systemd/drive says.
func TestUnderSystemd(t *testing.T) {
	underSystemd(t, "drive", fmt.Sprintf(systemdConfig, systemdSite(t)))
}

// TestBrowserUnderSystemd runs the browser's unit beside it: a page is rendered by a browser of another user, which has
// no network, a limit of memory and its own sandbox, and ends with the service.
func TestBrowserUnderSystemd(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts browsers")
	}
	testneed.Browser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>App</title><div id=app></div><script src=/app.js></script>`)
		case "/app.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `document.getElementById('app').textContent = 'made by scripts'`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	underSystemd(t, "drive-browser", fmt.Sprintf(`<CrawlConfig><Crawler name="docs" throttleTimeMS="1" smartRefresh="true"><Root url="%s/"/>
		<Browser command="unix:/run/sextant-browser/socket" timeoutS="600"/><Fetch name="app" render="auto"><Host val="127.0.0.1"/></Fetch></Crawler></CrawlConfig>`, site.URL))
}

// underSystemd has a script of testdata/systemd drive the units, on a configuration.
func underSystemd(t *testing.T, script, config string) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector needs more memory than limits of processes allow")
	}
	const systemd = "/usr/lib/systemd/systemd"
	if os.Geteuid() != 0 {
		t.Skip("only root can start systemd")
	}
	testneed.File(t, systemd, "systemd")
	if out, err := exec.CommandContext(t.Context(), "unshare", "--pid", "--mount", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		testneed.Missing(t, "namespaces are refused: %v %s", err, out)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		testdir.Write(t, filepath.Join(dir, name), text)
	}
	write("CrawlConfig.xml", config)
	write("default", beMain+"=1\nSEXTANT_LISTEN=off\n")
	write("sysusers.conf", "u sextant - \"Sextant\" /var/lib/sextant\n")
	drive := testdir.Read(t, filepath.Join("testdata", "systemd", script))
	write("drive", string(drive))
	unit, err := filepath.Abs(filepath.Join("..", "..", "packaging", "systemd", "sextant.service"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	boot, err := exec.CommandContext(ctx, "unshare", "--pid", "--mount", "--fork", "--ipc", "--uts", "--kill-child",
		"bash", filepath.Join("testdata", "systemd", "boot"), dir, os.Args[0], unit).CombinedOutput()
	out, readErr := os.ReadFile(filepath.Join(dir, "out"))
	if readErr != nil {
		testneed.Missing(t, "systemd cannot be process 1 here: %v\n%s", err, boot)
	}
	t.Logf("%s", out)
	if !strings.HasSuffix("\n"+string(out), "\ndone\n") {
		t.Errorf("%v\n%s", err, boot)
	}
}

// systemdSite has some pages and a PDF file.
func systemdSite(t *testing.T) string {
	t.Helper()
	pdf := testdocs.All(testdocs.Content{Title: "Harbour", Author: "A", Text: "harbour dues"})["pdf"]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, ".pdf"):
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = w.Write(pdf)
		case r.URL.Path == "/":
			fmt.Fprint(w, "<a href=/doc.pdf>d</a>")
			for i := range 300 {
				fmt.Fprintf(w, "<a href=/%d.html>p</a>", i)
			}
		case strings.HasSuffix(r.URL.Path, ".html"):
			fmt.Fprintf(w, "<title>%s</title><p>page %[1]s", r.URL.Path)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
