package render

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// tab.mu guards the state of a page, which the pipe's reader, the goroutines of its requests and the one that renders it share.

// prepare has shadow trees read that a page's scripts make closed, and takes away service workers, which never start: a
// page that finds none does not wait for one.
const prepare = `(() => { delete Navigator.prototype.serviceWorker; const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (init) { return attach.call(this, {...init, mode: 'open'}); }; })();`

// The window is so tall that what is loaded when it comes into sight is loaded.
const width, height = 1280, 8000

// tab is one page in a browser.
type tab struct {
	browser *browser
	cache   *cache
	// partition is that of the cache which the page may use.
	partition string
	page      Page
	context   string         // of the browser: cookies and the like are one page's only; set under mu
	frame     string         // the page's, which is its target, too
	session   string         // that asks the page
	fetches   sync.WaitGroup // requests on their way
	turns     *rate.Limiter
	posts     []string // addresses that may be posted to
	cancel    context.CancelCauseFunc
	ctx       context.Context //nolint:containedctx // of the requests, which end with the page
	began     time.Time
	timeout   time.Duration
	end       time.Time // of the page's time, as far as is known
	// delays returns for how long each process of the browser has waited for a processor; before is what it was at first.
	delays func() map[int]time.Duration
	before map[int]time.Duration

	changed chan struct{} // has an entry when the state changed

	// mu guards how far the page has come.
	mu       sync.Mutex
	ready    bool // attached
	answers  bool // the main answer was given
	loaded   bool
	closed   bool // no more requests are made
	flying   int  // requests on their way
	restAt   time.Time
	counts   Counts
	answered int // of the requests that were made, or have failed
	leads    string
	failed   error
}

func newTab(b *browser, c *cache, p Page) *tab {
	return &tab{browser: b, cache: c, partition: originOf(p.URL) + " " + p.Partition, page: p, turns: newTurns(), changed: make(chan struct{}, 1), restAt: time.Now(), delays: b.delays}
}

// render loads the page, waits, and reads it. The error is an *Error, or that of ctx.
func (t *tab) render(ctx context.Context, timeout time.Duration) (out Rendered, err error) {
	t.began, t.timeout, t.before = time.Now(), timeout, t.delays()
	t.end = t.began.Add(timeout)
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	defer func() {
		t.close()
		t.mu.Lock()
		out.Counts, out.Location, out.Took = t.counts, t.leads, time.Since(t.began)
		out.Failed += t.counts.Requests - t.answered
		t.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			err = t.explained(err)
		}
	}()
	t.fetches.Go(t.limit)
	if err := t.open(t.ctx); err != nil {
		return out, err
	}
	if err := t.wait(t.ctx); err != nil {
		return out, err
	}
	return out, t.read(t.ctx, &out)
}

var (
	errSlow        = &Error{TimedOut, "the page gives no answer: its scripts do not pause, or the machine is too busy"}
	errPageCrashed = &Error{Crashed, "the page crashed: it took too much memory, or met a fault of the browser"}
)

// explained gives an error its kind.
func (t *tab) explained(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	if t.browser.lost() {
		return t.browser.failure()
	}
	return failed(Crashed, "the page cannot be rendered: %v", err)
}

// open makes the tab and sends it to the page's URL.
func (t *tab) open(ctx context.Context) error {
	handle := t.event
	t.browser.handler.Store(&handle)
	var made struct {
		ID string `json:"browserContextId"`
	}
	b := t.browser
	if err := b.pipe.call(ctx, "", "Target.createBrowserContext", object{"disposeOnDetach": true}, &made); err != nil {
		return err
	}
	t.change(func() { t.context = made.ID })
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.pipe.call(ctx, "", "Target.createTarget", object{"url": "about:blank", "browserContextId": t.context, "width": width, "height": height}, &target); err != nil {
		return err
	}
	t.frame = target.ID
	if err := t.until(ctx, time.Time{}, func() bool { return t.ready }); err != nil {
		return err
	}
	for _, c := range []struct {
		method string
		params object
	}{
		{"Page.enable", object{}},
		{"Page.addScriptToEvaluateOnNewDocument", object{"source": prepare}},
		{"Emulation.setDeviceMetricsOverride", object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}},
		{"Inspector.enable", object{}},
	} {
		if err := b.pipe.call(ctx, t.session, c.method, c.params, nil); err != nil {
			return err
		}
	}
	b.pipe.send(t.session, "Page.navigate", object{"url": t.page.URL})
	return nil
}

// event takes in what happens in the browser, in the goroutine that reads from it.
func (t *tab) event(m *message) {
	switch m.Method {
	case "Target.attachedToTarget":
		t.attached(m)
	case "Fetch.requestPaused":
		t.paused(m)
	case "Page.loadEventFired":
		t.change(func() {
			if t.answers && m.Session == t.session { // not a frame
				t.loaded, t.restAt = true, time.Now()
			}
		})
	case "Page.javascriptDialogOpening":
		t.browser.pipe.send(m.Session, "Page.handleJavaScriptDialog", object{"accept": false})
	case "Inspector.targetCrashed":
		if t.is(m.Session) { // not a worker
			t.change(func() { t.failed = errPageCrashed })
			t.cancel(errPageCrashed)
		}
	}
}

// is reports whether a session is that of the page.
func (t *tab) is(session string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready && session == t.session
}

// change changes the state under the lock, and wakes who waits for it.
func (t *tab) change(do func()) {
	t.mu.Lock()
	do()
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// attached sets up a target before anything in it runs: the page, its frames and workers. Further windows are
// closed, and workers that outlive their page never begin.
func (t *tab) attached(m *message) {
	var p struct {
		Session string `json:"sessionId"`
		Info    struct {
			ID      string `json:"targetId"`
			Type    string `json:"type"`
			Context string `json:"browserContextId"`
		} `json:"targetInfo"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	b := t.browser
	main := false
	switch p.Info.Type {
	case "service_worker", "shared_worker": // Chromium does not surely pause what these ask for
		return
	case "page":
		t.mu.Lock()
		main = !t.ready && t.context != "" && p.Info.Context == t.context
		t.mu.Unlock()
		if !main {
			b.pipe.send("", "Target.closeTarget", object{"targetId": p.Info.ID})
			return
		}
	}
	b.pipe.send(p.Session, "Fetch.enable", object{"patterns": []object{{"urlPattern": "*"}}})
	b.pipe.send(p.Session, "Target.setAutoAttach", object{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true})
	b.pipe.send(p.Session, "Runtime.runIfWaitingForDebugger", object{})
	if main {
		t.change(func() { t.ready, t.session = true, p.Session })
	}
}

// close ends what the page still does, and forgets what it has kept.
func (t *tab) close() {
	t.change(func() { t.closed = true })
	t.cancel(nil)
	t.fetches.Wait()
	defer t.browser.handler.Store(nil)
	if t.context == "" || t.browser.lost() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if t.browser.pipe.call(ctx, "", "Target.disposeBrowserContext", object{"browserContextId": t.context}, nil) != nil {
		t.browser.broken = true
	}
}
