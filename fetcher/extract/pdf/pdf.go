// Package pdf reads text, form values, annotations, properties and links of PDF files (ISO 32000-2) with PDFium, which
// runs as WebAssembly: in a memory of its own, without files or network.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

const (
	// wasmPage is a page of WebAssembly memory, in bytes.
	wasmPage = 64 << 10
	// instanceTimeout bounds the allocation of memory for one document, which takes milliseconds.
	instanceTimeout = 10 * time.Second
	// maxPageText bounds the text of one page, in characters.
	maxPageText = 2 << 20
	// maxPageLinks bounds the links of one page.
	maxPageLinks = 10_000
)

// Reader reads PDF files one after the other. It is not safe for concurrent use.
type Reader struct{ pool pdfium.Pool }

// NewReader compiles PDFium, which takes several seconds and some 250 MB for that time. No document gets more than
// maxMemory bytes (at most 4 GiB).
func NewReader(maxMemory int64) (*Reader, error) {
	pages := min(max(maxMemory/wasmPage, 1), 65536)
	pool, err := webassembly.Init(webassembly.Config{
		MaxIdle: 1, MaxTotal: 1,
		FSConfig:      wazero.NewFSConfig(), // the default is all files
		Stdout:        io.Discard,
		Stderr:        io.Discard,
		RuntimeConfig: wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(pages)), //nolint:gosec // it is bounded above
	})
	if err != nil {
		return nil, fmt.Errorf("starting PDFium: %w", err)
	}
	debug.FreeOSMemory() // the compiler's memory
	return &Reader{pool}, nil
}

// Close releases the memory of NewReader.
func (r *Reader) Close() error { return r.pool.Close() }

// Read reads a file. Each file gets a fresh instance, so that one cannot influence the next. When ctx ends, the page
// holds what was read until then, and has the meta truncated; ctx is checked only between pages.
//
// A file that is protected only by an owner password is read; the error is extract.ErrEncrypted if reading requires a
// password.
func (r *Reader) Read(ctx context.Context, body []byte) (page extract.Page, err error) {
	instance, err := r.pool.GetInstance(instanceTimeout)
	if err != nil {
		return extract.Page{}, fmt.Errorf("starting PDFium: %w", err)
	}
	f := &file{Pdfium: instance, b: &extract.Builder{}}
	defer func() {
		// The binding panics on some invalid results of PDFium.
		if p := recover(); p != nil {
			page, err = extract.Page{}, fmt.Errorf("PDFium: %v", p)
		}
		_ = instance.Close() // it is not used again in any case
	}()
	if err := f.read(ctx, body); err != nil {
		if !f.b.HasText() {
			return extract.Page{}, err
		}
		f.b.Cut()
	}
	return f.b.Page(), nil
}

// file is an open file.
type file struct {
	pdfium.Pdfium
	document references.FPDF_DOCUMENT
	form     *references.FPDF_FORMHANDLE // nil: there is none
	values   map[string]bool             // of its fields, already written
	b        *extract.Builder
}

func (f *file) read(ctx context.Context, body []byte) error {
	opened, err := f.OpenDocument(&requests.OpenDocument{File: &body})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return extract.ErrEncrypted
	case err != nil:
		return fmt.Errorf("PDFium: %w", err)
	}
	f.document = opened.Document
	count, err := f.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: f.document})
	if err != nil {
		return fmt.Errorf("PDFium: %w", err)
	}
	f.properties(count.PageCount)
	f.openForm()
	defer f.closeForm()
	var failed error
	for i := range count.PageCount {
		if ctx.Err() != nil || f.b.Full() {
			f.b.Cut()
			return nil // properties alone are still useful
		}
		f.b.Break()
		if err := f.page(i); err != nil {
			// The other pages may be intact.
			failed = fmt.Errorf("page %d: %w", i+1, err)
			f.b.Cut()
		}
	}
	if failed != nil && !f.b.HasText() {
		return failed
	}
	return nil
}

// properties reads the information dictionary and the catalog.
func (f *file) properties(pages int) {
	info := func(tag string) string {
		r, err := f.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: f.document, Tag: tag})
		if err != nil {
			return ""
		}
		return r.Value
	}
	f.b.Title(info("Title"))
	f.b.Meta("author", info("Author"))
	f.b.Meta("subject", info("Subject"))
	f.b.Meta("keywords", info("Keywords"))
	f.b.Meta("pages", strconv.Itoa(pages))
	f.b.Time("created", parseTime(info("CreationDate")))
	f.b.Time("modified", parseTime(info("ModDate")))
	if r, err := f.FPDFCatalog_GetLanguage(&requests.FPDFCatalog_GetLanguage{Document: f.document}); err == nil {
		f.b.Language(r.Language)
	}
}

func (f *file) page(index int) error {
	loaded, err := f.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: f.document, Index: index})
	if err != nil {
		return err
	}
	defer func() {
		_, _ = f.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}) // the instance ends soon
	}()
	page := requests.Page{ByReference: &loaded.Page}
	return errors.Join(f.text(page), f.annotations(page), f.links(page))
}

func (f *file) text(page requests.Page) error {
	text, err := f.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return err
	}
	defer func() {
		_, _ = f.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) // as above
	}()
	count, err := f.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || count.Count <= 0 {
		return err
	}
	if count.Count > maxPageText {
		f.b.Cut()
	}
	got, err := f.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, Count: min(count.Count, maxPageText)})
	if err != nil {
		return err
	}
	f.b.Write([]byte(got.Text))
	return nil
}

// links adds the addresses of link annotations. As in HTML, an address in the text is not a link.
func (f *file) links(page requests.Page) error {
	at := 0
	for range maxPageLinks {
		link, err := f.FPDFLink_Enumerate(&requests.FPDFLink_Enumerate{Page: page, StartPos: at})
		if err != nil || link.Link == nil {
			return err
		}
		at = *link.NextStartPos
		action, err := f.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: *link.Link})
		if err != nil || action.Action == nil {
			continue
		}
		uri, err := f.FPDFAction_GetURIPath(&requests.FPDFAction_GetURIPath{Document: f.document, Action: *action.Action})
		if err == nil && uri.URIPath != nil {
			f.b.Link(*uri.URIPath)
		}
	}
	return nil
}
