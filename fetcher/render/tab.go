package render

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// tab.mu guards the state of a page, shared by the pipe's reader, the goroutines of its requests and the one that
// renders it.

// openShadows makes shadow trees readable that a page's scripts close.
const openShadows = `(() => { const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (init) { return attach.call(this, {...init, mode: 'open'}); }; })();`

const (
	// quiet is how long no request may be in flight for a page to be at rest.
	quiet = 500 * time.Millisecond
	// lookAgain is the interval at which an awaited element is looked for.
	lookAgain = 100 * time.Millisecond
	// readTime is the time limit for reading a page once its time is over.
	readTime = 3 * time.Second
	// The window is tall, so that content is loaded that waits to come into view.
	width, height = 1280, 8000
)

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
	turns     *turns
	cancel    context.CancelCauseFunc
	ctx       context.Context //nolint:containedctx // of the requests; ends with the page

	changed chan struct{} // has an entry when the state changed

	// mu guards the page's progress.
	mu       sync.Mutex
	ready    bool // attached
	answers  bool // the main request was fulfilled
	loaded   bool
	closed   bool // no more requests are made
	flying   int  // requests in flight
	restAt   time.Time
	counts   Counts
	answered int // requests with a response or an error
	leads    string
	failed   error
}

func newTab(b *browser, c *cache, p Page) *tab {
	return &tab{browser: b, cache: c, partition: originOf(p.URL) + " " + p.Partition, page: p, turns: newTurns(), changed: make(chan struct{}, 1), restAt: time.Now()}
}

// render loads the page, waits, and reads it. The error is an *Error, or that of ctx.
func (t *tab) render(ctx context.Context, timeout time.Duration) (out Rendered, err error) {
	began := time.Now()
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	defer func() {
		t.close()
		t.mu.Lock()
		out.Counts, out.Location, out.Took = t.counts, t.leads, time.Since(began)
		out.Failed += t.counts.Requests - t.answered
		t.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			err = t.explained(err)
		}
	}()
	whole, cancel := context.WithTimeoutCause(t.ctx, timeout+readTime, errSlow)
	defer cancel()
	if err := t.open(whole); err != nil {
		return out, err
	}
	if err := t.wait(whole, began.Add(timeout)); err != nil {
		return out, err
	}
	return out, t.read(whole, &out)
}

var (
	errSlow        = &Error{TimedOut, "the page gives no answer: its scripts do not pause, or the machine is too busy"}
	errPageCrashed = &Error{Crashed, "the page crashed: it took too much memory, or met a fault of the browser"}
)

// explained adds the kind to an error.
func (t *tab) explained(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	if t.browser.lost() {
		return t.browser.failure()
	}
	return failed(Crashed, "the page cannot be rendered: %v", err)
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
		{"Page.addScriptToEvaluateOnNewDocument", object{"source": openShadows}},
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

// until waits until holds, called under the lock, returns true, or until end if that is not zero.
func (t *tab) until(ctx context.Context, end time.Time, holds func() bool) error {
	var over <-chan time.Time
	if !end.IsZero() {
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		over = timer.C
	}
	for {
		t.mu.Lock()
		is, err := holds(), t.failed
		t.mu.Unlock()
		switch {
		case err != nil:
			return err
		case is:
			return nil
		}
		select {
		case <-t.changed:
		case <-t.browser.pipe.ended:
			return errGone
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wait waits for the awaited state of the page, at most until end.
func (t *tab) wait(ctx context.Context, end time.Time) error {
	switch {
	case t.page.Selector != "":
		return t.waitForElement(ctx, end)
	case t.page.After > 0:
		if err := t.until(ctx, end, t.isLoaded); err != nil {
			return err
		}
		at := time.Now().Add(t.page.After)
		if at.After(end) {
			at = end
		}
		return t.until(ctx, at, func() bool { return false })
	}
	for {
		var at time.Time
		rests := func() bool {
			if !t.isLoaded() || t.flying > 0 {
				return false
			}
			at = t.restAt.Add(quiet)
			return true
		}
		if err := t.until(ctx, end, rests); err != nil {
			return err
		}
		if at.IsZero() || at.After(end) { // the time is over: the present state counts
			t.change(func() { t.counts.Restless = true })
			return nil
		}
		if err := t.until(ctx, at, func() bool { return t.flying > 0 || t.restAt.Add(quiet).After(at) }); err != nil {
			return err
		}
		if !time.Now().Before(at) {
			return nil
		}
	}
}

// isLoaded reports whether the page has loaded as far as it will: one that navigates elsewhere is not loaded to its
// end. The caller holds mu.
func (t *tab) isLoaded() bool { return t.loaded || t.leads != "" }

// waitForElement waits until the selector matches an element.
func (t *tab) waitForElement(ctx context.Context, end time.Time) error {
	wanted, err := json.Marshal(t.page.Selector)
	if err != nil {
		return err
	}
	for {
		var is bool
		err := t.evaluate(ctx, "document.querySelector("+string(wanted)+") !== null", &is)
		if wrong := (*scriptError)(nil); errors.As(err, &wrong) {
			return failed(TimedOut, "the selector %s is wrong: %v", wanted, err)
		}
		switch {
		case err == nil && is:
			return nil
		case t.browser.lost():
			return errGone
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !time.Now().Before(end):
			return failed(TimedOut, "the page has no element %s when its time is over", wanted)
		}
		if err := t.until(ctx, time.Now().Add(lookAgain), func() bool { return false }); err != nil {
			return err
		}
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
