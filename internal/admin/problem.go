package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The codes of problems; a contract.
const (
	codeWrongUse    = "wrong_use"    // 400: the request is invalid
	codeNoToken     = "no_token"     // 401: it needs a valid token
	codeForbidden   = "forbidden"    // 403: the token, or the request's origin, has no right to do that
	codeNotFound    = "not_found"    // 404: there is no such path
	codeNotKnown    = "not_known"    // 404: the URL is unknown
	codeMethod      = "method"       // 405
	codeUnconfirmed = "unconfirmed"  // 409: a large change: repeat it with yes=true
	codeChanged     = "changed"      // 412: changed by another user in the meantime
	codeTooLarge    = "too_large"    // 413
	codeMediaType   = "media_type"   // 415
	codeDeclined    = "declined"     // 422: the request cannot be carried out; the user must correct it
	codePrecond     = "precondition" // 428: If-Match is missing
	codeTooMany     = "too_many"     // 429: rate limit
	codeFailed      = "failed"       // 500: the service or its store failed
	codeBusy        = "busy"         // 503: too many of these at once
	codeNotReady    = "not_ready"    // 503: the service is opening or closing its stores
	problemType     = "about:blank"  // RFC 9457, 4.2.1
	problemMedia    = "application/problem+json"
	maxProblemBytes = 64 << 20 // findings included
)

// Problem is the response to a failed request (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is what is wrong and what to do.
	Detail string `json:"detail"`
	// Code is one of a fixed list, for programs.
	Code string `json:"code"`
	// Findings are the errors of a configuration.
	Findings []Finding `json:"findings,omitempty"`

	retryAfter int // seconds; 0 for no header
}

func (p *Problem) Error() string { return p.Detail }

// newProblem returns the response to a failed request.
func newProblem(status int, code, format string, args ...any) *Problem {
	return &Problem{Type: problemType, Title: http.StatusText(status), Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// wrong returns the response to an invalid request.
func wrong(format string, args ...any) *Problem {
	return newProblem(http.StatusBadRequest, codeWrongUse, format, args...)
}

// problemOf returns the response for any error.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, codeTooLarge, "the request's body is larger than %d bytes: send it in parts", large.Limit)
	}
	if unknown, ok := errors.AsType[*push.UnknownTarget](err); ok {
		return wrong("%v", unknown)
	}
	if IsDeclined(err) {
		p := newProblem(http.StatusUnprocessableEntity, codeDeclined, "%v", err)
		if d, ok := errors.AsType[*Declined](err); ok {
			p.Findings = d.Findings
		}
		return p
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return newProblem(http.StatusServiceUnavailable, codeBusy, "%v", err)
	}
	return newProblem(http.StatusInternalServerError, codeFailed, "%v", err)
}

// problemPage is the page of a problem: its title and its detail. It works without the console, which may be off or not
// be open yet.
const problemPage = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>%[1]s – Sextant</title>
<link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/static/style.css"></head>
<body><main><h1>%[1]s</h1><p>%[2]s</p><p><a href="/">To the overview</a></p></main></body>
</html>
`

// write sends the problem: to a browser that opens a path outside the API as a page, else as JSON.
func (p *Problem) write(w http.ResponseWriter, r *http.Request) {
	b, err := json.Marshal(p)
	if err != nil { // cannot happen
		http.Error(w, p.Detail, p.Status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", problemMedia)
	page := strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/")
	if page {
		b = fmt.Appendf(nil, problemPage, p.Title, html.EscapeString(p.Detail))
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'")
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if page && r.Method == http.MethodGet && p.retryAfter > 0 {
		h.Set("Refresh", strconv.Itoa(p.retryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="sextant"`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}

// IsDeclined reports whether a command was refused because of its content, and did not fail by itself or its store.
func IsDeclined(err error) bool {
	if errors.Is(err, scheduler.ErrNotFound) {
		return true
	}
	if _, ok := errors.AsType[*crawl.SelectionError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*weburl.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*Declined](err)
	return ok
}

// Declined is an error of Service that the user must correct.
type Declined struct {
	Err error
	// Findings are the errors of a configuration, if it is about one.
	Findings []Finding
}

func (e *Declined) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Declined) Unwrap() error { return e.Err }
