package render

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// tab.mu guards the state of a page, which the pipe's reader, the goroutines of its requests and the one that renders it share.

// prepare has shadow trees read that a page's scripts make closed, and takes away service workers, which never start: a
// page that finds none does not wait for one.
const prepare = `(() => { delete Navigator.prototype.serviceWorker; const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (init) { return attach.call(this, {...init, mode: 'open'}); }; })();`

const (
	// quiet is how long no request must be on its way for a page to be at rest.
	quiet = 500 * time.Millisecond
	// lookAgain is how often an element is looked for that is waited for.
	lookAgain = 100 * time.Millisecond
	// readTime is how long a page may take to be read once its time is over.
	readTime = 3 * time.Second
	// The window is so tall that what is loaded when it comes into sight is loaded.
	width, height = 1280, 8000
)

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
	turns     *turns
	cancel    context.CancelCauseFunc
	ctx       context.Context //nolint:containedctx // of the requests, which end with the page

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

// until waits until something holds, which is asked under the lock, or until a time if that is not zero.
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

// wait waits for what the page is to be waited for, at most until end.
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
		if at.IsZero() || at.After(end) { // its time is over: what is there is taken
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

// isLoaded reports whether the page has come as far as it will: one that leads elsewhere is not loaded to its end.
// The caller holds mu.
func (t *tab) isLoaded() bool { return t.loaded || t.leads != "" }

// waitForElement waits until the selector selects something.
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
