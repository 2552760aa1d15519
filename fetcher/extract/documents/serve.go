package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/office"
	"github.com/sextant-crawler/sextant/fetcher/extract/pdf"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
)

// Two goroutines of the worker's process: one reads requests, so that the end of the input is noticed during a reading;
// the other executes them one by one. Serve waits for the first of them to end, and the process ends with it.

// Reader reads documents in the worker's process, one after the other.
type Reader interface {
	// Prepare initializes a kind, before the time of the first document of that kind begins.
	Prepare(kind Kind) error
	// Read reads a document. When ctx ends it should return its partial result.
	Read(ctx context.Context, kind Kind, body []byte) (extract.Page, error)
	// Search executes an order on a page, as Read reads a document.
	Search(ctx context.Context, o *tree.Order, body []byte) (tree.Found, error)
}

// softTime is the part of a document's time after which its reader is asked for a partial result; at the end of the
// time the worker is killed.
const softTime = 0.75

// Serve is the worker's side: it handles requests from in until that ends, which is not an error. It must be the last
// call of its process: if in ends during a reading, the reading continues until the process ends.
func Serve(in io.Reader, out io.Writer, timeout time.Duration, r Reader) error {
	requests, ended := make(chan []byte), make(chan error, 2)
	go func() {
		defer close(requests)
		for {
			t, payload, err := readFrame(in, maxRequest)
			if err == nil && t != frameRequest {
				err = fmt.Errorf("a frame has type %q instead of that of a request", t)
			}
			if err != nil {
				ended <- err
				return
			}
			requests <- payload
		}
	}()
	go func() {
		for payload := range requests {
			if err := answer(out, payload, timeout, r); err != nil {
				ended <- err
				return
			}
		}
	}()
	if err := <-ended; !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// answer processes one request.
func answer(out io.Writer, payload []byte, timeout time.Duration, r Reader) error {
	asked, err := parseRequest(payload)
	if err != nil {
		return err
	}
	if err := r.Prepare(asked.kind); err != nil {
		return writeAnswer(out, nil, &Error{Unavailable, err.Error()})
	}
	if err := writeFrame(out, frameBegun); err != nil {
		return err
	}
	ctx, cancel := withBudget(time.Duration(softTime * float64(timeout)))
	defer cancel()
	read, err := readSafely(ctx, r, &asked)
	if err != nil {
		if ctx.Err() != nil {
			err = &Error{TooSlow, tooSlow(timeout)}
		}
		return writeAnswer(out, nil, failure(err))
	}
	return writeAnswer(out, read, nil)
}

// readSafely turns a panic of a parser into an error. Each document is read with new state, so no document affects the
// next.
func readSafely(ctx context.Context, r Reader, asked *request) (read any, err error) {
	defer func() {
		if p := recover(); p != nil {
			read, err = nil, &Error{Crashed, fmt.Sprint(p)}
		}
	}()
	if asked.kind != page {
		return r.Read(ctx, asked.kind, asked.body)
	}
	var o tree.Order
	if err := json.Unmarshal(asked.order, &o); err != nil {
		return nil, err
	}
	return r.Search(ctx, &o, asked.body)
}

// Readers holds the readers of all kinds.
type Readers struct {
	maxMemory int64
	pdf       *pdf.Reader // created on demand
}

// NewReaders returns the readers for a process that may take maxMemory bytes.
func NewReaders(maxMemory int64) *Readers { return &Readers{maxMemory: maxMemory} }

// Prepare implements Reader.
func (r *Readers) Prepare(kind Kind) (err error) {
	if kind == PDF && r.pdf == nil {
		// The other half is for the body, the binding and its garbage.
		r.pdf, err = pdf.NewReader(r.maxMemory / 2)
	}
	return err
}

// Read implements Reader.
func (r *Readers) Read(ctx context.Context, kind Kind, body []byte) (extract.Page, error) {
	if kind == PDF {
		return r.pdf.Read(ctx, body)
	}
	return office.Read(ctx, office.Format(kind), body)
}

// Search implements Reader.
func (*Readers) Search(ctx context.Context, o *tree.Order, body []byte) (tree.Found, error) {
	return tree.Read(ctx, o, body)
}
