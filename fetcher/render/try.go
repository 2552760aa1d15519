package render

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
)

// OldestBrowser is the first version of Chromium that is used. Older ones have another headless mode, on which none of
// what keeps pages from the network was tried, and no corrections of their faults for long.
const OldestBrowser = 132

const (
	tryURL    = "http://sextant.invalid/"
	tryPage   = `<!doctype html><title>Try</title><div id="made"></div><script src="/try.js"></script>`
	tryScript = `document.getElementById("made").innerHTML = "<p id=done>" + [6, 7].reduce((a, b) => a * b) + "</p>"`
	tryMade   = `<p id="done">42</p>`
)

// Try has a page of its own rendered, whose script it answers itself, and returns the version of the browser, which is
// kept for the pages that come. The error is an *Error, or that of ctx.
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
		return "", failed(Crashed, "the browser starts, and does not render what it should: %.300q", out.HTML)
	}
	return r.Status().Version, nil
}

// tooOld reports whether a product such as HeadlessChrome/156.0.8078.79 is not to be used. One that has no version is
// somebody's own, and taken as it is.
func tooOld(product string) bool {
	_, version, _ := strings.Cut(product, "/")
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < OldestBrowser
}
