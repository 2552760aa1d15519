package render

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Each request in flight has a goroutine; tab.close waits for them.

const (
	// MaxRequests is the most requests for one page, requestGap the time between the starts of two.
	MaxRequests = 40
	requestGap  = 100 * time.Millisecond
)

// newTurns spaces the starts of requests, requestGap apart. It begins with the gap, since the page itself was requested
// just before.
func newTurns() *rate.Limiter {
	turns := rate.NewLimiter(rate.Every(requestGap), 1)
	turns.Allow()
	return turns
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
		Posted  []struct {
			Bytes []byte `json:"bytes"`
		} `json:"postDataEntries"`
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
	case !p.wanted(t.posts):
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
	t.inFlight++
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

// wanted reports whether a request must be made. Only the addresses in posts get POST.
func (p *pausedRequest) wanted(posts []string) bool {
	switch address, _, _ := strings.Cut(p.Request.URL, "?"); p.Request.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost, http.MethodOptions: // a preflight of a POST
		if !slices.Contains(posts, address) {
			return false
		}
	default:
		return false
	}
	if u, err := url.Parse(p.Request.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	h := p.header()
	switch p.Kind {
	case "Script", "Stylesheet", "XHR", "Fetch", "Preflight":
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
		if isOwn(name) && (name != "Content-Type" || p.Request.Method != http.MethodPost) {
			delete(h, name)
		}
	}
	var body []byte
	for _, part := range p.Request.Posted {
		body = append(body, part.Bytes...)
	}
	return Request{URL: p.Request.URL, Method: p.Request.Method, Kind: p.Kind, Header: h, Body: body, partition: t.partition}
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
		t.inFlight--
		t.restAt = time.Now()
	})
	if t.turns.Wait(t.ctx) != nil {
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
		t.counts.Requests--
		t.refused(r.Method, r.URL, r.Kind)
		return
	}
	t.answered++
	if err == nil && a.Status < http.StatusBadRequest {
		return
	}
	t.counts.Failed++
	passing := err != nil || a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError
	if passing && t.failed == nil && r.Kind == "Script" && originOf(r.URL) == originOf(t.page.URL) {
		t.failed = lacks(r.URL, a, err)
	}
}

// lacks returns the error of a page without one of its own scripts: it may look complete and yet be empty.
func lacks(script string, a Answer, err error) error {
	if err != nil {
		return failed(Incomplete, "its script %s could not be fetched: %v", script, err)
	}
	return failed(Incomplete, "its script %s could not be fetched: status %d", script, a.Status)
}

// originOf returns the scheme and host of a URL; all of it if it has none.
func originOf(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Scheme + "://" + u.Host
	}
	return raw
}

// refused counts a request that is not made, and lists it if the page's text may depend on it. The caller holds mu.
func (t *tab) refused(method, address, kind string) {
	t.counts.Refused++
	switch kind {
	case "Script", "XHR", "Fetch", "EventSource":
		if len(t.counts.RefusedData) < MaxRequests {
			t.counts.RefusedData = append(t.counts.RefusedData, method+" "+address)
		}
	}
}

// refuse fails a request without making it.
func (t *tab) refuse(session string, p *pausedRequest) {
	t.change(func() { t.refused(p.Request.Method, p.Request.URL, p.Kind) })
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
