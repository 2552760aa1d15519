package render

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A browser that this process starts has a goroutine that waits for its end and one that checks its memory; end waits
// for both. A lock guards its last error output.

const (
	// startTime is the time limit for a browser's first response.
	startTime = 2 * time.Minute
	// endTime is the time that a browser has to end before it is killed.
	endTime = 3 * time.Second
	// lookEvery is the interval at which a browser's memory is checked.
	lookEvery = 250 * time.Millisecond
)

// Flags returns the flags of every browser, without the folder for its profile. Requests that escape the pause over the
// protocol reach a proxy whose name cannot be resolved, as no name can. The window that opens at the start, the web
// pages behind each window's address bar (WebUIOmnibox...) and processes for pages to come cost as much as the page.
func Flags() []string {
	return []string{
		"--headless", "--remote-debugging-pipe", "--no-startup-window", "--no-first-run", "--disable-gpu", "--hide-scrollbars", "--mute-audio",
		"--proxy-server=socks5://nothing.invalid:1", "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic", "--disable-background-networking",
		"--disable-component-update", "--disable-domain-reliability", "--disable-breakpad", "--disable-crash-reporter", "--disable-sync", "--disable-extensions",
		"--disable-default-apps", "--disable-client-side-phishing-detection", "--no-pings", "--no-default-browser-check",
		"--metrics-recording-only", "--password-store=basic", "--use-mock-keychain", "--block-new-web-contents", "--deny-permission-prompts",
		"--disable-renderer-backgrounding", "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
		"--blink-settings=imagesEnabled=false", "--js-flags=--max-old-space-size=512",
		"--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication,CertificateTransparencyComponentUpdater,NetworkTimeServiceQuerying,DialMediaRouteProvider,WebUIOmniboxPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess",
	}
}

// browser is one Chromium with all its processes.
type browser struct {
	pipe    *pipe
	product string                         // name and version
	handler atomic.Pointer[func(*message)] // handles events of the current page
	begun   time.Time
	pages   int
	limit   int64

	process *exec.Cmd // nil if behind a socket
	profile string
	words   *tail
	reaped  chan struct{} // closed when the process has ended
	watch   sync.WaitGroup
	heavy   atomic.Bool  // killed for its memory
	memory  atomic.Int64 // when last checked
	broken  bool         // a page could not be closed
}

// start starts a browser, without a network if possible, and waits until it responds.
func start(ctx context.Context, s Settings, log *slog.Logger) (*browser, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if path := Socket(s.Command); path != "" {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, failed(Unavailable, "there is no browser: %v", err)
		}
		b := &browser{begun: time.Now(), limit: s.MaxMemory}
		b.pipe = open(conn, conn, b.event)
		return b.awaitStart(ctx)
	}
	var err error
	for _, isolated := range [...]bool{true, false} {
		var b *browser
		if b, err = startProcess(s, isolated); err == nil {
			if b, err = b.awaitStart(ctx); err == nil {
				log.Debug("started a browser", "program", s.Command[0], "network of its own", isolated && isolates)
				return b, nil
			}
		}
		if !isolates || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// profiles returns the folder for profiles. Chromium has sockets in its profile, whose paths are limited to 107 bytes:
// in a folder with a longer name it would not start.
func profiles(temporary string) string {
	const longest = 107 - len("/sextant-browser-4294967295/.org.chromium.Chromium.XXXXXX/SingletonSocket")
	if len(temporary) > longest {
		return "/tmp"
	}
	return temporary
}

// startProcess starts the program, with a separate profile that is removed at the end. It does not pass on this
// process's environment, which may contain secrets.
func startProcess(s Settings, isolated bool) (*browser, error) {
	profile, err := os.MkdirTemp(profiles(os.TempDir()), "sextant-browser-")
	if err != nil {
		return nil, failed(Unavailable, "there is no browser: %v", err)
	}
	b := &browser{profile: profile, begun: time.Now(), limit: s.MaxMemory, words: &tail{}, reaped: make(chan struct{})}
	commands, out, err1 := os.Pipe()
	in, answers, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		_ = os.RemoveAll(profile)
		return nil, failed(Unavailable, "there is no browser: %v", err)
	}
	args := append(Flags(), "--user-data-dir="+profile)
	b.process = exec.Command(s.Command[0], append(args, s.Command[1:]...)...) //nolint:gosec // the operator's own
	b.process.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + profile, "TMPDIR=" + profile, "XDG_RUNTIME_DIR=" + profile, "LANG=C.UTF-8", "TZ=UTC"}
	b.process.Dir, b.process.Stderr = profile, b.words
	b.process.ExtraFiles = []*os.File{commands, answers} // descriptors 3 and 4, as the flag for the pipe requires
	b.process.SysProcAttr = attributes(isolated)
	b.process.WaitDelay = endTime
	err = b.process.Start()
	_, _ = commands.Close(), answers.Close()
	if err != nil {
		_, _, _ = in.Close(), out.Close(), os.RemoveAll(profile)
		return nil, failed(Unavailable, "there is no browser: %v: write its path as <Browser command=\"...\"/>", err)
	}
	b.pipe = open(in, out, b.event)
	b.watch.Go(func() {
		_ = b.process.Wait()
		close(b.reaped)
	})
	b.watch.Go(b.checkMemory)
	return b, nil
}

// awaitStart waits for the first response. It ends a browser that does not respond.
func (b *browser) awaitStart(ctx context.Context) (*browser, error) {
	err := b.pipe.call(ctx, "", "Target.setAutoAttach", object{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}, nil)
	if err == nil {
		err = b.pipe.call(ctx, "", "Browser.setDownloadBehavior", object{"behavior": "deny"}, nil)
	}
	var version struct {
		Product string `json:"product"`
	}
	if err == nil {
		err = b.pipe.call(ctx, "", "Browser.getVersion", object{}, &version)
	}
	if err == nil && tooOld(version.Product) {
		b.end()
		return nil, failed(Unavailable, "the browser is too old: it is %s, and Chromium %d or later is needed", version.Product, OldestBrowser)
	}
	if err == nil {
		b.product = version.Product
		return b, nil
	}
	b.end()
	words := "it does not respond: " + err.Error()
	if output := b.words.String(); output != "" {
		words = output
	}
	hint := ""
	if strings.Contains(words, "no-sandbox") || strings.Contains(words, "sandbox!") {
		hint = ": Chromium's sandbox does not work for this user on this system; run it as the unit sextant-browser, or, where its pages are trusted, write <Browser command=\"" + DefaultCommand + " --no-sandbox\"/>"
	}
	return nil, failed(Unavailable, "the browser does not start: %s%s", words, hint)
}

func (b *browser) event(m *message) {
	if handle := b.handler.Load(); handle != nil {
		(*handle)(m)
	}
}

// delays returns treeDelays of a browser that this process has started.
func (b *browser) delays() map[int]time.Duration {
	if b.process == nil {
		return nil
	}
	return treeDelays(b.process.Process.Pid)
}

// isOld reports whether the next page should get a new browser.
func (b *browser) isOld() bool {
	return b.pages >= pagesPerBrowser || time.Since(b.begun) >= browserAge || b.memory.Load() > b.limit/2 || b.lost()
}

// lost reports whether the browser is unusable.
func (b *browser) lost() bool {
	select {
	case <-b.pipe.ended:
		return true
	default:
		return b.broken
	}
}

// end ends the browser with all its processes, and removes its files.
func (b *browser) end() {
	if b.process == nil {
		b.pipe.close()
		return
	}
	b.pipe.send("", "Browser.close", object{})
	select {
	case <-b.reaped:
	case <-time.After(b.patience()):
	}
	killTree(b.process.Process.Pid)
	b.pipe.close()
	b.watch.Wait()
	removeAll(b.profile)
}

func (b *browser) patience() time.Duration {
	if b.lost() {
		return 0
	}
	return endTime
}

// checkMemory kills the browser when its processes take too much memory.
func (b *browser) checkMemory() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.reaped:
			return
		case <-tick.C:
			n := treeMemory(b.process.Process.Pid)
			b.memory.Store(n)
			if n > b.limit {
				b.heavy.Store(true)
				killTree(b.process.Process.Pid)
			}
		}
	}
}

// failure returns the error of a page whose browser has ended.
func (b *browser) failure() error {
	if b.heavy.Load() {
		return failed(Crashed, "the page used more than %d MiB of memory", b.limit>>20)
	}
	return failed(Crashed, "the browser ended while it rendered the page")
}

// removeAll retries: a killed process may still write for a moment.
func removeAll(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// tail keeps the end of a browser's output.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(len(t.text)-tailBytes, 0):]
	return len(p), nil
}

// String returns the last significant line: the browser's error, if it printed one.
func (t *tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var last string
	for line := range bytes.Lines(t.text) {
		words := strings.TrimSpace(string(line))
		if _, after, ok := strings.Cut(words, "] "); ok {
			words = after
		}
		switch {
		case words == "":
		case strings.Contains(words, "sandbox"):
			return words
		default:
			last = words
		}
	}
	return last
}
