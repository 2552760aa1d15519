package visit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
)

// extractionError is the meta of a document that could not be read, with the reason
// in a word.
const extractionError = "extraction_error"

// readDocument reads a PDF or office document. One that cannot be read is indexed by
// its URL and metas alone, as a type is that nothing reads; an error is that of ctx.
func (v *visit) readDocument(ctx context.Context, contentType string, body []byte) (p extract.Page, read bool, err error) {
	kind, ok := documents.KindOf(contentType, body)
	if !ok || v.policy.Settings.Documents == nil {
		return p, false, nil
	}
	began := time.Now()
	p, err = v.policy.Settings.Documents.Read(ctx, contentType, body)
	if ctx.Err() == nil {
		v.meter.Documents.Took(string(kind), time.Since(began))
	}
	if err == nil {
		v.meter.Documents.Add(string(kind), "")
		return p, true, nil
	}
	if ctx.Err() != nil {
		return extract.Page{}, false, ctx.Err()
	}
	reason := documents.Crashed
	if failed, ok := errors.AsType[*documents.Error](err); ok {
		reason = failed.Reason
	}
	v.meter.Documents.Add(string(kind), string(reason))
	v.log.Warn("a document cannot be read: it is indexed by its URL and metas alone",
		"url", v.lease.URL.String(), "kind", string(kind), "bytes", len(body), "error", err)
	return extract.Page{Metas: []extract.Meta{{Name: extractionError, Content: string(reason)}}}, false, nil
}

// bodyLimit lets PDF files have a limit of their own.
func (v *visit) bodyLimit(header http.Header) int64 {
	if documents.IsPDF(header.Get("Content-Type")) {
		return v.policy.Settings.MaxPDFBytes
	}
	return 0
}
