package fetcher

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

const (
	// errorBodyBytes is the number of bytes read from the body of an unsuccessful response.
	errorBodyBytes = 64 << 10
	// directBytes is the largest declared length that is allocated before its bytes arrive, and the largest scratch
	// buffer that is kept.
	directBytes  = 1 << 20
	scratchBytes = 64 << 10
	// lentBytes is the least capacity of a lent body, which fits most pages.
	lentBytes = 16 << 10
	// pacedBytes is the maximum size of a read if Settings.Pace is set.
	pacedBytes = 16 << 10
)

// readBody reads a body of length bytes, -1 if unknown, decoded, up to limit.
func (f *Fetcher) readBody(ctx context.Context, w *wire, header http.Header, length, limit int64, lend bool,
) (body []byte, truncated bool, why fault.Fault, err error) {
	if length == 0 {
		return nil, false, 0, nil
	}
	if w.whole != nil {
		w.timer = time.AfterFunc(w.idle, func() { w.whole.cancel(errIdle) })
		defer w.timer.Stop()
	}
	var source io.Reader = w
	if codings := contentCodings(header); len(codings) > 0 {
		decoded, release, err := f.decoders.open(ctx, codings, w)
		defer release()
		if err != nil {
			return nil, false, w.fault(ctx, err), err
		}
		source, length = decoded, -1
	}
	body, truncated, err = f.read(source, length, limit, lend)
	if err == nil && !truncated {
		err = w.finish()
	}
	if err != nil {
		return body, truncated, w.fault(ctx, err), err
	}
	return body, truncated, 0, nil
}

// read reads r up to limit into a new slice. length is the length of r, -1 if unknown.
func (f *Fetcher) read(r io.Reader, length, limit int64, lend bool) (body []byte, truncated bool, err error) {
	if 0 <= length && length <= min(limit, directBytes) {
		body = f.body(int(length), lend)
		n, err := io.ReadFull(r, body)
		return body[:n], false, err
	}
	scratch, _ := f.scratch.Get().(*[]byte)
	if scratch == nil {
		b := make([]byte, 0, scratchBytes)
		scratch = &b
	}
	buf := (*scratch)[:0]
	for err == nil && int64(len(buf)) <= limit {
		if len(buf) == cap(buf) {
			larger := make([]byte, len(buf), min(int64(cap(buf))*4, limit+1))
			copy(larger, buf)
			buf = larger
		}
		var n int
		n, err = r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	kept := buf
	if int64(len(buf)) > limit {
		kept, truncated, err = buf[:limit], true, nil
	}
	if cap(buf) <= directBytes {
		*scratch = buf
		body = f.body(len(kept), lend)
		copy(body, kept)
		f.scratch.Put(scratch)
		return body, truncated, err
	}
	return kept, truncated, err
}

// body returns n bytes, in a released slice if lend is set and one is large enough.
func (f *Fetcher) body(n int, lend bool) []byte {
	if !lend {
		return make([]byte, n)
	}
	if b, _ := f.bodies.Get().(*[]byte); b != nil && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n, max(n, lentBytes))
}

// wire reads a body from the connection. It limits the wait for the next bytes, calls the pace, and records connection
// errors: a decoder's error is the server's coding only if wire had none.
type wire struct {
	ctx   context.Context
	body  io.Reader
	idle  time.Duration
	timer *time.Timer // cancels the request; nil: body enforces the limits
	pace  func(context.Context, int) error
	whole *download
	err   error // other than io.EOF
}

func (w *wire) Read(p []byte) (int, error) {
	if w.pace != nil {
		p = p[:min(len(p), pacedBytes)]
	}
	if w.timer != nil {
		w.timer.Reset(w.idle)
	}
	n, err := w.body.Read(p)
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.pace != nil && n > 0 && (err == nil || errors.Is(err, io.EOF)) {
		if slow := w.whole.pause(func() error { return w.pace(w.ctx, n) }); slow != nil {
			err = slow
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// download is the time limit of a whole request.
type download struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer // cancels the request
	until  time.Time
}

func newDownload(until time.Time, cancel context.CancelCauseFunc) *download {
	return &download{
		cancel: cancel, until: until,
		timer: time.AfterFunc(time.Until(until), func() { cancel(errDownload) }),
	}
}

// pause stops the clock while wait runs.
func (d *download) pause(wait func() error) error {
	if !d.timer.Stop() {
		return nil // time is up
	}
	began := time.Now()
	err := wait()
	d.until = d.until.Add(time.Since(began))
	d.timer.Reset(time.Until(d.until))
	return err
}

// finish reads what may follow the end of a coding: the end of the body, which the connection needs to be reused, or
// extra bytes.
func (w *wire) finish() error {
	if w.err != nil {
		return w.err
	}
	var rest [512]byte
	if _, err := w.Read(rest[:]); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (w *wire) fault(ctx context.Context, err error) fault.Fault {
	switch {
	case w.err != nil:
		return classifyBody(ctx, w.err)
	case context.Cause(ctx) != nil:
		return classify(ctx, context.Cause(ctx))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.ShortBody
	}
	return fault.Protocol
}
