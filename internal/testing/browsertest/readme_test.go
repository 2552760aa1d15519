package browsertest

import (
	"bufio"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestReadmePictures takes the pictures of the README from the demo, when it has crawled its sites.
func TestReadmePictures(t *testing.T) {
	dir := os.Getenv("SEXTANT_README_PICTURES")
	if dir == "" {
		t.Skip("make pictures sets SEXTANT_README_PICTURES to the folder for them")
	}
	needsBrowser(t)
	link := startDemo(t)
	tab := newTab(t, "http://"+link.Host)
	tab.size(1200, 760)
	tab.open(link.RequestURI())
	tab.wait("signed in", `location.pathname === "/" && document.readyState === "complete"`)
	tab.wait("the plots", `document.querySelector("canvas")`)
	tab.window(filepath.Join(dir, "console-overview.png"))
	tab.open("/hosts")
	tab.see("127.0.0.1")
	tab.window(filepath.Join(dir, "console-hosts.png"))
}

// startDemo runs the demo until the end of the test, and waits until it says what to try. It
// returns the link that signs in.
func startDemo(t *testing.T) *url.URL {
	t.Helper()
	command := exec.Command(program, "demo", "--port", "0")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGINT)
		_ = command.Wait()
	})
	late := time.AfterFunc(5*pageTimeout, func() { _ = command.Process.Kill() })
	defer late.Stop()
	var link *url.URL
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if link == nil && strings.Contains(line, "/signin?ticket=") {
			if link, err = url.Parse(line); err != nil {
				t.Fatal(err)
			}
		}
		if link != nil && strings.HasPrefix(line, "Serving until") {
			return link
		}
	}
	t.Fatal("the demo ended before it had crawled its sites")
	return nil
}

// window keeps what the window shows, and no more.
func (tb *tab) window(path string) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, pageTimeout)
	defer cancel()
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{OptimizeForSpeed: new(false)})
	if err != nil {
		tb.t.Fatal(err)
	}
	if err := os.WriteFile(path, shot.Data, 0o600); err != nil {
		tb.t.Fatal(err)
	}
}
