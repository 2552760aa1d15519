package documents

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
)

// The protocol between the pool and a worker, over the worker's standard input and output: frames of a type (one byte),
// a length (four bytes, big endian) and the content. To a request, the worker responds that it has begun, and later
// with a page or an error.
type frame byte

const (
	frameRequest frame = 'r' // kind, a zero byte, an order as JSON or nothing, a zero byte, body
	frameBegun   frame = 'b' // empty: the document's time starts
	framePage    frame = 'p' // extract.Page, or the order's result, as JSON
	frameError   frame = 'e' // Error as JSON
)

const (
	// maxRequest and maxAnswer bound a frame, in bytes: a body is at most 1 GiB.
	maxRequest = 1<<30 + 64
	maxAnswer  = 64 << 20
)

func writeFrame(w io.Writer, t frame, parts ...[]byte) error {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	header := binary.BigEndian.AppendUint32([]byte{byte(t)}, uint32(n)) //nolint:gosec // bounded by maxRequest
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readFrame allocates the declared length, up to limit.
func readFrame(r io.Reader, limit int64) (frame, []byte, error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	n := int64(binary.BigEndian.Uint32(header[1:]))
	if n > limit {
		return 0, nil, fmt.Errorf("a frame has %d bytes, more than %d", n, limit)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return frame(header[0]), payload, nil
}

// request is a worker's task.
type request struct {
	kind  Kind
	order []byte // the values to find in a page, as JSON; nil for documents
	body  []byte
}

func writeRequest(w io.Writer, r *request) error {
	return writeFrame(w, frameRequest, []byte(r.kind), []byte{0}, r.order, []byte{0}, r.body)
}

func parseRequest(payload []byte) (r request, err error) {
	kind, rest, _ := bytes.Cut(payload, []byte{0})
	order, body, ok := bytes.Cut(rest, []byte{0})
	if !ok {
		return r, errors.New("a request has no kind or order")
	}
	return request{Kind(kind), order, body}, nil
}

// writeAnswer writes the result, or an error.
func writeAnswer(w io.Writer, read any, failed *Error) error {
	t := framePage
	if failed != nil {
		t, read = frameError, failed
	}
	b, err := json.Marshal(read)
	if err != nil {
		return err
	}
	return writeFrame(w, t, b)
}

// parseAnswer decodes the result into to. The error is an *Error of the document, or another one if the worker violates
// the protocol.
func parseAnswer(t frame, payload []byte, to any) error {
	switch t {
	case framePage:
		return json.Unmarshal(payload, to)
	case frameError:
		failed := &Error{}
		if err := json.Unmarshal(payload, failed); err != nil {
			return err
		}
		return failed
	case frameRequest, frameBegun:
	}
	return fmt.Errorf("a frame has type %q instead of that of a response", t)
}

// Reason is the code for why a document was not read.
type Reason string

// The reasons.
const (
	Encrypted   Reason = "encrypted"   // it requires a password
	Damaged     Reason = "damaged"     // or not of its apparent kind
	TooLarge    Reason = "too-large"   // when unpacked
	TooDeep     Reason = "too-deep"    // nested elements of a page
	TooSlow     Reason = "too-slow"    // its time was exceeded
	OutOfMemory Reason = "memory"      // its worker ran out of memory
	Crashed     Reason = "crashed"     // its worker ended
	Unavailable Reason = "unavailable" // no worker or converter could be started; not the document's fault
	Failed      Reason = "failed"      // its converter failed
)

// OfMachine reports whether the cause may be this machine and not the document: it was too busy, or something ended the
// worker. A retry may succeed.
func (r Reason) OfMachine() bool {
	switch r {
	case TooSlow, OutOfMemory, Crashed, Unavailable:
		return true
	case Encrypted, Damaged, TooLarge, TooDeep, Failed:
	}
	return false
}

// Error is a document that could not be read.
type Error struct {
	Reason Reason
	Words  string
}

func (e *Error) Error() string { return string(e.Reason) + ": " + e.Words }

// failure returns the Error for the error of a reader.
func failure(err error) *Error {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed
	}
	reason := Damaged
	switch {
	case errors.Is(err, extract.ErrEncrypted):
		reason = Encrypted
	case errors.Is(err, extract.ErrTooLarge):
		reason = TooLarge
	case errors.Is(err, tree.ErrTooDeep):
		reason = TooDeep
	}
	return &Error{reason, err.Error()}
}
