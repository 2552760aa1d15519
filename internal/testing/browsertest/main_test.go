package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// What all tests share: it costs seconds to start.
var (
	program     string          // the built program
	chromium    string          // empty: there is none
	axe         string          // the source of axe-core; empty without it
	browserCtx  context.Context // of the one browser
	outside     *gate           // between the browser and the network
	everything  = sync.OnceValues(openWorld)
	pageTimeout = time.Minute // for one step; generous, since it is not a measurement
)

func TestMain(m *testing.M) {
	testdir.InMemory()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) (code int) {
	chromium = testneed.FindBrowser()
	if chromium == "" {
		return m.Run() // needsBrowser ends them
	}
	source, _ := os.ReadFile(os.Getenv("SEXTANT_AXE")) // TestChecksFindFaults needs it
	axe = string(source)
	dir, err := os.MkdirTemp("", "sextant-browser-")
	if err != nil {
		return failed(err)
	}
	defer removeAll(dir)
	program = filepath.Join(dir, "sextant")
	// go run keeps what it links in the build cache, unlike go build.
	build := exec.Command("go", "run", "-ldflags=-s -w", "-exec=cp", "github.com/sextant-crawler/sextant/cmd/sextant", program)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return failed(fmt.Errorf("the program does not build: %w", err))
	}
	outside = openGate()
	defer outside.close()
	ctx, stop := startBrowser(filepath.Join(dir, "profile"))
	defer stop()
	browserCtx = ctx
	defer closeWorlds()
	return m.Run()
}

// sextant prepares the program, which ends with the test.
func sextant(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), program, args...)
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// removeAll is patient: processes of the browser may write for a moment after its end.
func removeAll(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// startBrowser prepares the browser; it starts with the first tab. All that it asks for
// goes through the gate, also what goes to loopback addresses.
func startBrowser(profile string) (context.Context, func()) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.ProxyServer(outside.url()), chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("no-pings", true),
		chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter,AutofillServerCommunication,CertificateTransparencyComponentUpdater,NetworkTimeServiceQuerying,WebUIOmniboxPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess"),
		chromedp.Flag("lang", "en-US"), chromedp.Env("TZ=Europe/Berlin"),
	)
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancelBrowser := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {}), chromedp.WithLogf(func(string, ...any) {}))
	return ctx, func() {
		cancelBrowser()
		cancel()
	}
}

// needsBrowser ends a test without a browser, and fails it under continuous integration.
func needsBrowser(t testing.TB) {
	t.Helper()
	if chromium == "" {
		testneed.NoBrowser(t)
	}
}
