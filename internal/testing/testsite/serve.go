package testsite

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP handles one request and records the visit.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := Visit{
		Host: r.Host, Path: r.URL.RequestURI(), UserAgent: r.UserAgent(), Begin: time.Now(),
		Conditional: r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "",
	}
	s.mu.Lock()
	page, ok := s.pages[v.Path]
	s.mu.Unlock()
	if !ok {
		page = Page{Status: http.StatusNotFound, Body: "<title>Not found</title><p>There is no such page."}
	}
	if d := s.delay + page.Delay; d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	if page.Hold != nil {
		select {
		case <-page.Hold:
		case <-r.Context().Done():
		}
	}
	v.Status = page.header(w.Header(), r)
	v.End = time.Now()
	s.mu.Lock()
	s.visits = append(s.visits, v)
	s.mu.Unlock()

	// The visit is recorded before the response is sent, so that a client that has read it finds it in Visits.
	w.WriteHeader(v.Status)
	if v.Status != http.StatusNotModified && r.Method != http.MethodHead {
		_, _ = io.WriteString(w, page.Body) // the client may have gone
	}
}

// header sets the response's header and returns its status.
func (p Page) header(h http.Header, r *http.Request) int {
	status := p.Status
	if status == 0 {
		status = http.StatusOK
	}
	for name, value := range p.Header {
		h.Set(name, value)
	}
	if status == http.StatusOK {
		if !p.NoETag {
			h.Set("ETag", p.etag())
		}
		if !p.LastModified.IsZero() {
			h.Set("Last-Modified", p.LastModified.UTC().Format(http.TimeFormat))
		}
		if p.unchanged(r.Header) {
			return http.StatusNotModified
		}
	}
	contentType := p.ContentType
	if contentType == "" {
		contentType = "text/html; charset=utf-8"
	}
	h.Set("Content-Type", contentType)
	if status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(p.Body)))
	}
	return status
}

func (p Page) etag() string {
	sum := sha256.Sum256([]byte(p.Body))
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// unchanged evaluates the preconditions in the order of RFC 9110 section 13.2.2: If-Modified-Since counts only without
// If-None-Match.
func (p Page) unchanged(h http.Header) bool {
	if match := h.Get("If-None-Match"); match != "" {
		return !p.NoETag && (match == "*" || strings.Contains(match, p.etag()))
	}
	since, err := http.ParseTime(h.Get("If-Modified-Since"))
	return err == nil && !p.LastModified.IsZero() && !p.LastModified.Truncate(time.Second).After(since)
}
