package render

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// tab.mu guards the state of a page, shared by the pipe's reader, the goroutines of its requests and the one that
// renders it.

// prepare opens the shadow trees that a page's scripts close, and removes the service worker API, because service
// workers never start here and a page could wait for one.
const prepare = `(() => { delete Navigator.prototype.serviceWorker; const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (init) { return attach.call(this, {...init, mode: 'open'}); }; })();`

// The window is tall, so that content is loaded that waits to come into view.
const width, height = 1280, 8000

// tab is one page in a browser.
type tab struct {
	browser *browser
	cache   *cache
	// partition is the part of the cache that the page may use.
	partition string
	page      Page
	context   string         // of the browser: isolates cookies and the like of a page; set under mu
	frame     string         // the page's frame, also its target
	session   string         // the page's session
	fetches   sync.WaitGroup // requests in flight
	turns     *rate.Limiter
	posts     []string // addresses that may be posted to
	cancel    context.CancelCauseFunc
	ctx       context.Context //nolint:containedctx // of the requests; ends with the page
	began     time.Time
	timeout   time.Duration
	end       time.Time // of the page's time, as last computed
	// delays returns the time that each process of the browser has waited for a processor; before is its value at the
	// start.
	delays func() map[int]time.Duration
	before map[int]time.Duration

	changed chan struct{} // has an entry when the state changed

	// mu guards the page's progress.
	mu       sync.Mutex
	ready    bool // attached
	answers  bool // the main request was fulfilled
	loaded   bool
	closed   bool // set once no more requests are made
	inFlight int  // requests in flight
	restAt   time.Time
	counts   Counts
	answered int // requests with a response or an error
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
	errSlow        = &Error{TimedOut, "the page does not respond: its scripts do not pause, or the machine is too busy"}
	errPageCrashed = &Error{Crashed, "the page crashed: it used too much memory, or hit a bug in the browser"}
)

// explained adds the kind to an error.
func (t *tab) explained(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	if t.browser.lost() {
		return t.browser.failure()
	}
	return failed(Crashed, "rendering the page: %v", err)
}

// open creates the tab and navigates it to the page's URL.
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

// event handles an event of the browser, in the goroutine that reads from it.
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

// is reports whether a session is the page's.
func (t *tab) is(session string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready && session == t.session
}

// change changes the state under the lock, and wakes the goroutine that waits for it.
func (t *tab) change(do func()) {
	t.mu.Lock()
	do()
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// attached prepares a target before it runs anything: the page, its frames and workers. It closes further windows, and
// never starts workers that outlive their page.
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
	case "service_worker", "shared_worker": // Chromium may not pause their requests
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

// close stops the page, and drops its stored data.
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
