package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is one tab with cookies of its own. It notes what goes wrong in it, and its test
// fails where something did.
type tab struct {
	t        testing.TB
	ctx      context.Context
	origin   string
	expected bool // its faults are looked at by the test

	mu     sync.Mutex
	noted  []string
	status map[string]int64 // answers that are expected to be errors: by URL
	sent   int              // requests
}

// newTab opens a tab for the service at an origin.
func newTab(t testing.TB, origin string) *tab {
	t.Helper()
	needsBrowser(t)
	// The browser itself must not end with the first test.
	if err := chromedp.Do(browserCtx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	ctx, cancel := chromedp.NewContext(browserCtx, chromedp.WithNewBrowserContext())
	tb := &tab{t: t, ctx: ctx, origin: origin, status: map[string]int64{}}
	outside.allow(strings.TrimPrefix(origin, "http://"))
	if err := chromedp.Listen(ctx, tb.note); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if tb.expected {
			return
		}
		for _, fault := range tb.faults() {
			t.Error(fault)
		}
	})
	tb.size(1280, 900)
	tb.dark(false)
	return tb
}

// note looks at what the browser tells of the tab.
func (tb *tab) note(ev any) {
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		tb.request(e)
	case *network.EventResponseReceived:
		tb.mu.Lock()
		expected := tb.status[e.Response.URL] == e.Response.Status
		tb.mu.Unlock()
		if e.Response.Status >= 400 && !expected {
			tb.fault("%s is answered with %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventLoadingFailed:
		if !e.Canceled { // as a page is left
			tb.fault("a request failed: %s %s", e.ErrorText, e.BlockedReason)
		}
	case *runtime.EventExceptionThrown:
		d := e.ExceptionDetails
		words := d.Text
		if d.Exception != nil {
			words += " " + d.Exception.Description
		}
		tb.fault("exception in %s:%d: %s", d.URL, d.LineNumber+1, words)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var words []string
			for _, a := range e.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			tb.fault("console.%s: %s", e.Type, strings.Join(words, " "))
		}
	case *cdplog.EventEntryAdded: // breaches of the content security policy stand here, too
		if e.Entry.Source == cdplog.EntrySourceNetwork { // seen above
			return
		}
		if e.Entry.Level == cdplog.EntryLevelError || e.Entry.Level == cdplog.EntryLevelWarning {
			tb.fault("console: %s %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	}
}

func (tb *tab) request(e *network.EventRequestWillBeSent) {
	u, err := url.Parse(e.Request.URL)
	if err != nil {
		tb.fault("a request to %q", e.Request.URL)
		return
	}
	tb.mu.Lock()
	tb.sent++
	tb.mu.Unlock()
	if u.Scheme == "data" || u.Scheme == "blob" || u.Scheme+"://"+u.Host == tb.origin {
		return
	}
	tb.fault("a request leaves the service: %s", e.Request.URL)
}

func (tb *tab) fault(format string, args ...any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.noted = append(tb.noted, fmt.Sprintf(format, args...))
}

// faults returns what went wrong so far.
func (tb *tab) faults() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return slices.Clone(tb.noted)
}

// expect reports whether the next answers of a path have this status.
func (tb *tab) expect(path string, status int64) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.status[tb.origin+path] = status
}

// do runs steps, each of which must succeed.
func (tb *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, pageTimeout)
	defer cancel()
	for i, step := range steps {
		if err := chromedp.Do(ctx, step); err != nil {
			tb.t.Fatalf("step %d: %v; faults: %q", i+1, err, tb.faults())
		}
	}
}

// eval returns the value of an expression in the page.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, pageTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait waits until an expression in the page is true, over navigations.
func (tb *tab) wait(what, expression string) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, pageTimeout)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		if ctx.Err() != nil {
			text, _ := chromedp.Run(tb.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
			tb.t.Fatalf("%s: not seen in %s; faults: %q; the page says:\n%s", what, pageTimeout, tb.faults(), text)
		}
		if err := chromedp.Do(ctx, chromedp.Sleep(pollPause)); err != nil {
			continue // the end is seen above
		}
	}
}

// see waits for words in the page.
func (tb *tab) see(words string) {
	tb.t.Helper()
	tb.wait(quoted(words), "document.body && document.body.innerText.includes("+quoted(words)+")")
}

// open goes to a path of the service.
func (tb *tab) open(path string) {
	tb.t.Helper()
	tb.do(chromedp.Navigate(tb.origin + path))
}

// signIn signs in with a token, by the form.
func (tb *tab) signIn(token string) {
	tb.t.Helper()
	tb.open("/signin")
	tb.do(chromedp.SendKeys(chromedp.ID("token"), token+"\r"))
	tb.wait("signed in", `location.pathname === "/" && document.readyState === "complete"`)
}

func (tb *tab) size(width, height int64) {
	tb.t.Helper()
	tb.do(chromedp.EmulateViewport(width, height))
}

func (tb *tab) dark(on bool) {
	tb.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	tb.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}
