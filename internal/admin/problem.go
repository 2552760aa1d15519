package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The codes of problems; a contract.
const (
	codeWrongUse    = "wrong_use"    // 400: the request makes no sense
	codeNoToken     = "no_token"     // 401: it needs a token that is valid
	codeForbidden   = "forbidden"    // 403: the token, or a request from there, may not do that
	codeNotFound    = "not_found"    // 404: there is no such path
	codeNotKnown    = "not_known"    // 404: the URL is not known
	codeMethod      = "method"       // 405
	codeUnconfirmed = "unconfirmed"  // 409: it changes much: send it again with yes=true
	codeChanged     = "changed"      // 412: somebody else has written meanwhile
	codeTooLarge    = "too_large"    // 413
	codeMediaType   = "media_type"   // 415
	codeDeclined    = "declined"     // 422: what is asked for cannot be done; it is the user's to mend
	codePrecond     = "precondition" // 428: If-Match is missing
	codeTooMany     = "too_many"     // 429: slower, please
	codeFailed      = "failed"       // 500: the service or its store failed
	codeBusy        = "busy"         // 503: too much of this at once
	codeNotReady    = "not_ready"    // 503: the service opens its stores, or closes them
	problemType     = "about:blank"  // RFC 9457, 4.2.1
	problemMedia    = "application/problem+json"
	maxProblemBytes = 64 << 20 // findings included
)

// Problem is the answer to a request that was not done (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what is wrong and what to do.
	Detail string `json:"detail"`
	// Code is one of a fixed list, for programs.
	Code string `json:"code"`
	// Findings are the errors of a configuration.
	Findings []Finding `json:"findings,omitempty"`

	retryAfter int // seconds; 0 for no header
}

func (p *Problem) Error() string { return p.Detail }

// newProblem makes the response to a request that failed.
func newProblem(status int, code, format string, args ...any) *Problem {
	return &Problem{Type: problemType, Title: http.StatusText(status), Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// wrong is the response to a request that makes no sense.
func wrong(format string, args ...any) *Problem {
	return newProblem(http.StatusBadRequest, codeWrongUse, format, args...)
}

// problemOf makes a response from any error.
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

// write answers with the problem.
func (p *Problem) write(w http.ResponseWriter) {
	b, err := json.Marshal(p)
	if err != nil { // its fields always can
		http.Error(w, p.Detail, p.Status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", problemMedia)
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="sextant"`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}

// IsDeclined reports whether a command was refused because of what it asks, rather than failed
// by itself or its store.
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

// Declined is an error of Service that the user has to mend.
type Declined struct {
	Err error
	// Findings are the errors of a configuration, if it is about one.
	Findings []Finding
}

func (e *Declined) Error() string { return e.Err.Error() }

// Unwrap gives what is wrong.
func (e *Declined) Unwrap() error { return e.Err }
