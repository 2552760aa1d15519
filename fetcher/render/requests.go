package render

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Each request in flight has a goroutine; tab.close waits for them.

const (
	// MaxRequests is the most requests for one page, requestGap the time between the starts of two.
	MaxRequests = 40
	requestGap  = 100 * time.Millisecond
)

// turns spaces the starts of requests, requestGap apart.
type turns struct {
	next chan time.Time // holds the time of the next start; the goroutine that received it has the turn
}

// newTurns begins with the gap, since the page itself was requested just before.
func newTurns() *turns {
	t := &turns{next: make(chan time.Time, 1)}
	t.next <- time.Now().Add(requestGap)
	return t
}

// wait waits for a turn; its error is that of ctx.
func (t *turns) wait(ctx context.Context) error {
	select {
	case at := <-t.next:
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		select {
		case <-timer.C:
			t.next <- time.Now().Add(requestGap)
			return nil
		case <-ctx.Done():
			t.next <- at
			return ctx.Err()
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pausedRequest is a request that the browser has paused.
type pausedRequest struct {
	ID      string `json:"requestId"`
	Frame   string `json:"frameId"`
	Kind    string `json:"resourceType"`
	Request struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
}

// paused fulfils a request, refuses it, or starts making it.
func (t *tab) paused(m *message) {
	p := new(pausedRequest)
	if json.Unmarshal(m.Params, p) != nil {
		return
	}
	session := m.Session
	p.Request.URL, _, _ = strings.Cut(p.Request.URL, "#")
	switch scheme, _, _ := strings.Cut(p.Request.URL, ":"); {
	case slices.Contains([]string{"data", "blob", "about"}, scheme):
		t.browser.pipe.send(session, "Fetch.continueRequest", object{"requestId": p.ID})
		return
	case p.Kind == "Document" && p.Frame == t.frame:
		t.navigates(session, p)
		return
	case !p.wanted():
		t.refuse(session, p)
		return
	}
	if a, ok := t.cache.fresh(t.request(p)); ok {
		t.change(func() { t.counts.Cached++ })
		t.fulfil(session, p, a)
		return
	}
	if !t.begin(session, p) {
		t.refuse(session, p)
	}
}

// begin starts a request in its turn, unless there were too many. The lock prevents a start while close waits for all.
func (t *tab) begin(session string, p *pausedRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts.Requests >= MaxRequests {
		t.counts.TooMany = true
	}
	if t.counts.TooMany || t.closed {
		return false
	}
	t.counts.Requests++
	t.flying++
	t.fetches.Go(func() { t.fetch(session, p) })
	return true
}

// navigates fulfils the main request of the page. It records later navigations without following them.
func (t *tab) navigates(session string, p *pausedRequest) {
	first := false
	t.change(func() {
		first, t.answers = !t.answers, true
		if !first && p.Request.Method == http.MethodGet && t.leads == "" && p.Request.URL != t.page.URL {
			t.leads = p.Request.URL
		}
	})
	if first {
		t.fulfil(session, p, Answer{t.page.Status, t.page.Header, t.page.Body})
		return
	}
	// A response without content leaves the page where it is.
	t.fulfil(session, p, Answer{Status: http.StatusNoContent})
}

// wanted reports whether a request is to be made.
func (p *pausedRequest) wanted() bool {
	if p.Request.Method != http.MethodGet && p.Request.Method != http.MethodHead {
		return false
	}
	if u, err := url.Parse(p.Request.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	h := p.header()
	switch p.Kind {
	case "Script", "Stylesheet", "XHR", "Fetch":
		return h.Get("Sec-Purpose") == "" && h.Get("Purpose") == ""
	case "Other": // scripts of workers, but also the page's icon
		return h.Get("Accept") == "*/*" && h.Get("Service-Worker") == ""
	}
	return false
}

// header returns the headers that the page sets, without the crawler's own.
func (p *pausedRequest) header() http.Header {
	h := http.Header{}
	for name, value := range p.Request.Headers {
		h.Set(name, value)
	}
	return h
}

// request returns p in the form for Page.Fetch.
func (t *tab) request(p *pausedRequest) Request {
	h := p.header()
	for name := range h {
		if isOwn(name) {
			delete(h, name)
		}
	}
	return Request{URL: p.Request.URL, Method: p.Request.Method, Kind: p.Kind, Header: h, partition: t.partition}
}

// isOwn reports whether the crawler itself writes a request header.
func isOwn(name string) bool {
	switch name {
	case "User-Agent", "Cookie", "Host", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding", "Upgrade-Insecure-Requests",
		"If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range", "From", "Via", "Forwarded", "Te", "Trailer", "Upgrade", "Expect", "Keep-Alive":
		return true
	}
	return strings.HasPrefix(name, "Sec-") || strings.HasPrefix(name, "Proxy-") || strings.HasPrefix(name, "X-Forwarded-")
}

// fetch makes a request in its turn, and fulfils it.
func (t *tab) fetch(session string, p *pausedRequest) {
	defer t.change(func() {
		t.flying--
		t.restAt = time.Now()
	})
	if t.turns.wait(t.ctx) != nil {
		return
	}
	r := t.request(p)
	a, err := t.cache.fetch(t.ctx, r, t.page.Fetch)
	if t.ctx.Err() != nil {
		return
	}
	t.change(func() { t.count(&r, a, err) })
	if err != nil {
		t.browser.pipe.send(session, "Fetch.failRequest", object{"requestId": p.ID, "errorReason": "Failed"})
		return
	}
	t.fulfil(session, p, a)
}

// count counts the result of a request. Requests in flight when the page is read count as failed.
func (t *tab) count(r *Request, a Answer, err error) {
	if errors.Is(err, ErrRefused) {
		t.counts.Requests, t.counts.Refused = t.counts.Requests-1, t.counts.Refused+1
		return
	}
	t.answered++
	if err == nil && a.Status < http.StatusBadRequest {
		return
	}
	t.counts.Failed++
	passing := err != nil || a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError
	if passing && t.failed == nil && r.Kind == "Script" && sameOrigin(r.URL, t.page.URL) {
		t.failed = lacks(r.URL, a, err)
	}
}

// lacks returns the error of a page without one of its own scripts: it may look complete and yet be empty.
func lacks(script string, a Answer, err error) error {
	if err != nil {
		return failed(Incomplete, "its script %s cannot be had: %v", script, err)
	}
	return failed(Incomplete, "its script %s cannot be had: status %d", script, a.Status)
}

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b string) bool {
	u, err1 := url.Parse(a)
	v, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && u.Scheme == v.Scheme && u.Host == v.Host
}

// originOf returns the scheme and host of a URL; all of it if it has none.
func originOf(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Scheme + "://" + u.Host
	}
	return raw
}

// refuse fails a request without making it.
func (t *tab) refuse(session string, p *pausedRequest) {
	t.change(func() { t.counts.Refused++ })
	t.browser.pipe.send(session, "Fetch.failRequest", object{"requestId": p.ID, "errorReason": "BlockedByClient"})
}

// fulfil passes a response to the browser.
func (t *tab) fulfil(session string, p *pausedRequest, a Answer) {
	type header struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	headers := []header{}
	for name, values := range a.Header {
		if isKept(name) {
			continue
		}
		for _, value := range values {
			headers = append(headers, header{name, strings.ToValidUTF8(value, "?")})
		}
	}
	t.browser.pipe.send(session, "Fetch.fulfillRequest", object{
		"requestId": p.ID, "responseCode": a.Status, "responseHeaders": headers, "body": base64.StdEncoding.EncodeToString(a.Body),
	})
}

// isKept reports whether a response header is withheld from the browser: headers of the transfer, cookies, which belong
// to the log-in, and headers that would make it send requests or remember something.
func isKept(name string) bool {
	switch name {
	case "Content-Encoding", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Trailer", "Upgrade",
		"Set-Cookie", "Set-Cookie2", "Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc", "Accept-Ch", "Critical-Ch",
		"Content-Disposition", "Refresh", "Link", "Report-To", "Reporting-Endpoints", "Nel", "Expect-Ct", "Public-Key-Pins",
		"Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy", "Speculation-Rules", "Www-Authenticate", "Proxy-Authenticate":
		return true
	}
	return false
}
