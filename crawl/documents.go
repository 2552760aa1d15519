package crawl

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/histogram"
)

// DocumentReader reads bodies that are no pages: those that documents.KindOf knows.
// An error is a *documents.Error, or that of ctx. It is called by several goroutines
// at once, and may make them wait.
type DocumentReader interface {
	Read(ctx context.Context, contentType string, body []byte) (extract.Page, error)
}

// extractionError is the meta of a document that could not be read, with the reason
// in a word.
const extractionError = "extraction_error"

// readDocument reads a PDF or office document. One that cannot be read is indexed by
// its URL and metas alone, as a type is that nothing reads; an error is that of ctx.
func (v *visit) readDocument(ctx context.Context, contentType string, body []byte) (p extract.Page, read bool, err error) {
	kind, ok := documents.KindOf(contentType, body)
	if !ok || v.settings.Documents == nil {
		return p, false, nil
	}
	began := time.Now()
	p, err = v.settings.Documents.Read(ctx, contentType, body)
	if ctx.Err() == nil {
		v.documents.took(kind, time.Since(began))
	}
	if err == nil {
		v.documents.add(kind, "")
		return p, true, nil
	}
	if ctx.Err() != nil {
		return extract.Page{}, false, ctx.Err()
	}
	reason := documents.Crashed
	if failed, ok := errors.AsType[*documents.Error](err); ok {
		reason = failed.Reason
	}
	v.documents.add(kind, reason)
	v.log.Warn("a document cannot be read: it is indexed by its URL and metas alone",
		"url", v.lease.URL.String(), "kind", string(kind), "bytes", len(body), "error", err)
	return extract.Page{Metas: []extract.Meta{{Name: extractionError, Content: string(reason)}}}, false, nil
}

// bodyLimit lets PDF files have a limit of their own.
func (v *visit) bodyLimit(header http.Header) int64 {
	if documents.IsPDF(header.Get("Content-Type")) {
		return v.settings.MaxPDFBytes
	}
	return 0
}

// documentCounts count documents since the process started. The zero value counts none.
type documentCounts struct {
	mu     sync.Mutex
	read   map[string]int64
	failed map[string]map[string]int64
	times  map[string]*histogram.Histogram
}

// DocumentsStatus counts the PDF and office documents since the process started.
type DocumentsStatus struct {
	Read   map[string]int64            `json:"read,omitempty"`   // by kind, such as pdf
	Failed map[string]map[string]int64 `json:"failed,omitempty"` // by kind and reason
}

// add counts a document, with no reason as one that was read.
func (c *documentCounts) add(kind documents.Kind, reason documents.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason == "" {
		if c.read == nil {
			c.read = map[string]int64{}
		}
		c.read[string(kind)]++
		return
	}
	if c.failed == nil {
		c.failed = map[string]map[string]int64{}
	}
	if c.failed[string(kind)] == nil {
		c.failed[string(kind)] = map[string]int64{}
	}
	c.failed[string(kind)][string(reason)]++
}

// status is nil while there was no document.
func (c *documentCounts) status() *DocumentsStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil && c.failed == nil {
		return nil
	}
	s := &DocumentsStatus{Read: maps.Clone(c.read), Failed: map[string]map[string]int64{}}
	for kind, reasons := range c.failed {
		s.Failed[kind] = maps.Clone(reasons)
	}
	return s
}
