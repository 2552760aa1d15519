package render

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
)

// OldestBrowser is the oldest supported version of Chromium. Older ones have another headless mode, in which the
// isolation of pages from the network is untested, and long lack security fixes.
const OldestBrowser = 132

const (
	tryURL    = "http://sextant.invalid/"
	tryPage   = `<!doctype html><title>Try</title><div id="made"></div><script src="/try.js"></script>`
	tryScript = `document.getElementById("made").innerHTML = "<p id=done>" + [6, 7].reduce((a, b) => a * b) + "</p>"`
	tryMade   = `<p id="done">42</p>`
)

// Try renders a built-in page whose script it serves itself, and returns the version of the browser, which is kept for
// later pages. The error is an *Error, or that of ctx.
func (r *Renderer) Try(ctx context.Context) (version string, err error) {
	page := Page{
		URL: tryURL, Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(tryPage), Selector: "#done",
		Fetch: func(context.Context, Request) (Answer, error) {
			return Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/javascript"}, "Cache-Control": {"no-store"}}, Body: []byte(tryScript)}, nil
		},
	}
	out, err := r.Render(ctx, page)
	switch {
	case err != nil:
		return "", err
	case !bytes.Contains(out.HTML, []byte(tryMade)):
		return "", failed(Crashed, "the browser starts, but does not render the test page correctly: %.300q", out.HTML)
	}
	return r.Status().Version, nil
}

// tooOld reports whether a product such as HeadlessChrome/156.0.8078.79 is unsupported. A product without a version is
// a custom one, and accepted.
func tooOld(product string) bool {
	_, version, _ := strings.Cut(product, "/")
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < OldestBrowser
}
