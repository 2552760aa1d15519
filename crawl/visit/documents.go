package visit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/scheduler"
)

// All workers share which types were logged; a mutex guards them, and is held over nothing else.

// extractionError is the meta with the reason, in one word, why a document could not be read.
const extractionError = "extraction_error"

// readDocument reads a PDF or office document. One that cannot be read is indexed by its URL and metas only, like a
// type without a reader; the error is that of ctx. If quiet is set, a document without text is not reported yet,
// because a converter follows.
func (v *visit) readDocument(ctx context.Context, contentType string, body []byte, quiet bool) (p extract.Page, read bool, err error) {
	kind, ok := documents.KindOf(contentType, body)
	switch {
	case ok && v.policy.Settings.Documents != nil:
	case quiet:
		return extract.Page{}, false, nil
	default:
		return v.unreadType(contentType), false, nil
	}
	began := time.Now()
	p, err = v.policy.Settings.Documents.Read(ctx, contentType, body)
	if ctx.Err() == nil {
		v.meter.Documents.Took(string(kind), time.Since(began))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return extract.Page{}, false, ctx.Err()
	case err != nil && quiet:
		return extract.Page{}, false, nil
	case err != nil:
		return v.unreadDocument(string(kind), body, err), false, nil
	case p.Text != "":
		v.meter.Documents.Add(string(kind), "")
	case !quiet:
		v.hasNoText(&p, string(kind))
	}
	return p, true, nil
}

// unreadDocument returns the page of a document that could not be read.
func (v *visit) unreadDocument(kind string, body []byte, err error) extract.Page {
	reason := documents.Crashed
	if failed, ok := errors.AsType[*documents.Error](err); ok {
		reason = failed.Reason
	}
	v.meter.Documents.Add(kind, string(reason))
	message := "cannot read a document; indexing only its URL and metas"
	if reason.OfMachine() {
		v.machineFailed = err
		message = "this machine failed to read a document; its index entry stays, or it is retried before only its URL and metas are indexed"
	}
	v.log.Warn(message, "url", v.lease.URL.String(), "kind", kind, "bytes", len(body), "error", err)
	return extract.Page{Metas: []extract.Meta{{Name: extractionError, Content: string(reason)}}}
}

// converted is the kind of documents that external programs read.
const converted = "converter"

// convert runs an external program to read a body. If it fails, the document has no text.
func (v *visit) convert(ctx context.Context, c *extract.Converter, body []byte) (p extract.Page, read bool, err error) {
	began := time.Now()
	p, err = v.policy.Settings.Convert(ctx, *c, body)
	if err != nil && ctx.Err() != nil {
		return extract.Page{}, false, ctx.Err()
	}
	v.meter.Documents.Took(converted, time.Since(began))
	switch {
	case err != nil:
		p = v.unreadDocument(converted, body, err)
		p.Converter = c.Command[0]
		return p, false, nil
	case p.Text == "":
		v.hasNoText(&p, converted)
	default:
		v.meter.Documents.Add(converted, "")
	}
	return p, true, nil
}

// convertTextless runs an external program to read a body in which no text was found. Other results, such as title,
// metas and links, are kept.
func (v *visit) convertTextless(ctx context.Context, c *extract.Converter, body []byte, found extract.Page, read bool) (extract.Page, bool, error) {
	p, converts, err := v.convert(ctx, c, body)
	if !read || err != nil {
		return p, converts, err
	}
	found.Text, found.Converter = p.Text, p.Converter
	found.Metas, found.Links = append(found.Metas, p.Metas...), append(found.Links, p.Links...)
	found.LinksCut = found.LinksCut || p.LinksCut
	if found.Title == "" {
		found.Title = p.Title
	}
	if found.Language == "" {
		found.Language = p.Language
	}
	return found, true, nil
}

// Values of extraction_error for files without text that caused no failure.
const (
	noTextInside = "no-text"  // it was read
	notRead      = "not-read" // nothing reads its type
)

// hasNoText sets in the result that a document was read and contains no text.
func (v *visit) hasNoText(p *extract.Page, kind string) {
	p.Metas = append(p.Metas, extract.Meta{Name: extractionError, Content: noTextInside})
	v.meter.Documents.Add(kind, noTextInside)
	v.log.Info("a document has no text; indexing only its URL and metas", "url", v.lease.URL.String(), "kind", kind)
}

// unreadType returns the page for a body whose type has no reader. Each type is logged once; images, audio and video
// are expected to have no text, and are neither logged nor counted.
func (v *visit) unreadType(contentType string) extract.Page {
	t := mediaType(contentType)
	if !isMedia(t) {
		v.meter.Documents.Add("other", notRead)
		if v.visitor.unreadTypes.first(t) {
			v.log.Info("no reader supports a media type; only the URLs and metas of its documents are indexed", "url", v.lease.URL.String(), "type", t)
		}
	}
	return extract.Page{Metas: []extract.Meta{{Name: extractionError, Content: notRead}}}
}

// isMedia recognises types that have no text by nature.
func isMedia(t string) bool {
	return strings.HasPrefix(t, "image/") || strings.HasPrefix(t, "audio/") || strings.HasPrefix(t, "video/") || strings.HasPrefix(t, "font/")
}

// maxUnreadTypes limits the types that are counted separately: a hostile server can send any.
const maxUnreadTypes = 1000

// firstOf reports whether a word occurs for the first time; mu guards the set of words.
type firstOf struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (f *firstOf) first(word string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[word] || len(f.seen) >= maxUnreadTypes {
		return false
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[word] = true
	return true
}

// lacksText sets in the result why a page has no text, or hardly any.
func (v *visit) lacksText(p *extract.Page, contentType string, result *scheduler.Result) {
	for i := range p.Metas {
		if p.Metas[i].Name != extractionError {
			continue
		}
		switch why := p.Metas[i].Content; {
		case why == noTextInside:
			result.Reason, result.Words = scheduler.ReasonNoText, "the document has no text"
		case why == notRead && !isMedia(mediaType(contentType)):
			result.Reason, result.Words = scheduler.ReasonNoText, "no reader supports documents of this type"
		case documents.Reason(why).OfMachine():
			result.Reason, result.Words = scheduler.ReasonReader, cannotReadFile+why
		case why != notRead:
			result.Reason, result.Words = scheduler.ReasonUnreadFile, cannotReadFile+why
		}
		return
	}
	if p.Shell {
		noteShell(v, result)
	}
}

// noteShell sets in the result that only scripts fill the page, and, if they ran, why they did not fill it.
func noteShell(v *visit, result *scheduler.Result) {
	result.Reason, result.Words = scheduler.ReasonAppShell, "only scripts fill the page"
	message := "a page is an application shell: only scripts fill it, and they run only with render in its Fetch"
	if result.Directives&scheduler.Rendered != 0 {
		result.Words = "its scripts added hardly any text"
		message = "a page has hardly any text after its scripts ran"
		if n := len(v.refusedData); n > 0 {
			result.Words += fmt.Sprintf("; requests refused: %d (%s)", n, strings.Join(v.refusedData[:min(n, shownRefused)], ", "))
		}
	}
	if v.meter.Shells.Add(v.lease.URL.Origin()) {
		v.log.Warn(message+"; further ones of its host are counted in the status", "url", v.lease.URL.String(), "error", result.Words)
	}
}

// shownRefused are the refused requests that a reason names.
const shownRefused = 3

// bodyLimit returns the size limit of a body, which can differ for PDF files.
func (v *visit) bodyLimit(header http.Header) int64 {
	if documents.IsPDF(header.Get("Content-Type")) {
		return v.policy.Settings.MaxPDFBytes
	}
	return 0
}
