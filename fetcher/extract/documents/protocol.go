package documents

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// The protocol between the pool and a worker, over the worker's standard input and
// output: frames of a type (one byte), a length (four bytes, big endian) and as many
// bytes. To one request, the worker answers that it began, and later with a page or
// an error.
type frame byte

const (
	frameRequest frame = 'r' // kind, a zero byte, body
	frameBegun   frame = 'b' // empty: the time for the document runs from here
	framePage    frame = 'p' // extract.Page as JSON
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

// readFrame takes the memory for what is announced, up to limit.
func readFrame(r io.Reader, limit int64) (frame, []byte, error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	n := int64(binary.BigEndian.Uint32(header[1:]))
	if n > limit {
		return 0, nil, fmt.Errorf("a frame of %d bytes: at most %d are allowed", n, limit)
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

func writeRequest(w io.Writer, kind Kind, body []byte) error {
	return writeFrame(w, frameRequest, []byte(kind), []byte{0}, body)
}

func parseRequest(payload []byte) (Kind, []byte, error) {
	kind, body, ok := bytes.Cut(payload, []byte{0})
	if !ok {
		return "", nil, errors.New("a request without a kind")
	}
	return Kind(kind), body, nil
}

// writeAnswer sends a page, or the error in its place.
func writeAnswer(w io.Writer, page *extract.Page, failed *Error) error {
	t, value := framePage, any(page)
	if failed != nil {
		t, value = frameError, failed
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return writeFrame(w, t, b)
}

// parseAnswer returns a page, an *Error of the document, or another error where the
// worker does not keep to the protocol.
func parseAnswer(t frame, payload []byte) (extract.Page, error) {
	switch t {
	case framePage:
		var page extract.Page
		err := json.Unmarshal(payload, &page)
		return page, err
	case frameError:
		failed := &Error{}
		if err := json.Unmarshal(payload, failed); err != nil {
			return extract.Page{}, err
		}
		return extract.Page{}, failed
	case frameRequest, frameBegun:
	}
	return extract.Page{}, fmt.Errorf("a frame of type %q where an answer was expected", t)
}

// Reason says in a word why a document was not read.
type Reason string

// The reasons.
const (
	Encrypted   Reason = "encrypted"   // it asks for a password
	Damaged     Reason = "damaged"     // or not of the kind that it seems to be
	TooLarge    Reason = "too-large"   // when it is unpacked
	TooSlow     Reason = "too-slow"    // its time was over
	OutOfMemory Reason = "memory"      // its worker had no more
	Crashed     Reason = "crashed"     // its worker ended
	Unavailable Reason = "unavailable" // no worker or converter could be started; not the document's fault
	Failed      Reason = "failed"      // its converter said so
)

// Error is a document that could not be read.
type Error struct {
	Reason Reason
	Words  string
}

func (e *Error) Error() string { return string(e.Reason) + ": " + e.Words }

// failure puts the error of a reader into a reason.
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
	}
	return &Error{reason, err.Error()}
}
