package segments

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

// ErrDamaged is wrapped by errors for a body that differs from what was stored.
var ErrDamaged = errors.New("the body is damaged")

// Reader reads the bodies that a snapshot refers to: their files stay until Close. It belongs to one goroutine.
type Reader struct {
	files  *Files
	number uint64
	file   kv.Segment // nil: none
}

// Reader returns a new Reader. Call it before the snapshot is opened. It may be called concurrently.
func (f *Files) Reader() *Reader {
	r := &Reader{files: f}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers[r] = f.epoch
	return r
}

// Close releases the files that were kept for this Reader.
func (r *Reader) Close() {
	r.leave()
	r.files.mu.Lock()
	delete(r.files.readers, r)
	waits := len(r.files.gone) > 0
	r.files.mu.Unlock()
	if waits {
		r.files.Sweep()
	}
}

func (r *Reader) leave() {
	if r.file != nil {
		_ = r.file.Close() // opened only for reading
		r.file = nil
	}
}

// Body returns a copy of an order's body, or in damage why it is lost. Any other error may be temporary.
func (r *Reader) Body(o *record.Order) (body []byte, damage string, err error) {
	switch {
	case o.Lost:
		return nil, ErrDamaged.Error(), nil
	case o.Place.Segment == 0:
		return bytes.Clone(o.Body), "", nil
	}
	body, err = r.Read(o.Place)
	if errors.Is(err, ErrDamaged) {
		return nil, err.Error(), nil
	}
	return body, "", err
}

// Read reads the body at a place. The error wraps ErrDamaged if the body is lost.
func (r *Reader) Read(p record.BodyPlace) ([]byte, error) {
	if p.Length > record.MaxBody {
		return nil, fmt.Errorf("%w: its length is %d", ErrDamaged, p.Length)
	}
	b := make([]byte, p.Length)
	if err := r.readAt(b, p); err != nil {
		return nil, lost(err)
	}
	if Sum(b) != p.Sum {
		return nil, fmt.Errorf("%w: %d bytes from byte %d of segment %d do not match their checksum", ErrDamaged, p.Length, p.Offset, p.Segment)
	}
	return b, nil
}

func (r *Reader) readAt(b []byte, p record.BodyPlace) error {
	if r.file == nil || r.number != p.Segment {
		r.leave()
		f, err := r.files.stored.Segment(p.Segment)
		if err != nil {
			return err
		}
		r.file, r.number = f, p.Segment
	}
	_, err := r.file.ReadAt(b, int64(p.Offset))
	return err
}

// lost wraps ErrDamaged if a retry cannot help.
func lost(err error) error {
	for _, e := range [...]error{fs.ErrNotExist, io.EOF, io.ErrUnexpectedEOF, syscall.EIO, syscall.EISDIR} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}
