package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
)

// In all forms numbers are varints, and a text is its length and its bytes.

// valueVersion is the first byte of each stored value with its own form. Values with another version are not read.
const valueVersion = 1

var errShort = errors.New("value ends too early")

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendTime(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(b, t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}

// reader decodes a value. It keeps the first error; later reads return zeros.
type reader struct {
	b   []byte
	err error
}

func newReader(b []byte) reader {
	r := reader{b: b}
	if v := r.byte(); r.err == nil && v != valueVersion {
		r.fail(fmt.Errorf("value has version %d, this program knows %d", v, valueVersion))
	}
	return r
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) enum(what string, end byte) byte {
	v := r.byte()
	if v >= end {
		r.fail(fmt.Errorf("%s %d is not known", what, v))
		return 0
	}
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) string() string { return string(r.bytes(r.uvarint())) }

func (r *reader) time() time.Time {
	sec, nsec := r.varint(), r.uvarint()
	if nsec >= uint64(time.Second) {
		r.fail(fmt.Errorf("%d nanoseconds are more than a second", nsec))
	}
	if r.err != nil {
		return time.Time{}
	}
	return time.Unix(sec, int64(nsec)).UTC()
}

// end returns the error of the whole value; excess bytes are one.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes too many in value", len(r.b))
	}
	return r.err
}

// sketch reads a Sketch.
func (r *reader) sketch() (s sketch.Sketch) {
	if b := r.bytes(sketch.Size); b != nil {
		s, _, _ = sketch.Read(b)
	}
	return s
}

// appendSeconds appends a time that is zero or in whole seconds since 1970.
func appendSeconds(b []byte, t time.Time) []byte {
	at := uint64(0)
	if !t.IsZero() {
		at = uint64(max(t.Unix(), 0))
	}
	return binary.AppendUvarint(b, at)
}

func (r *reader) seconds() time.Time {
	at := r.uvarint()
	if at > math.MaxInt64 {
		r.fail(fmt.Errorf("time %d of an order is too late", at))
	}
	if at == 0 || r.err != nil {
		return time.Time{}
	}
	return time.Unix(int64(at), 0).UTC()
}
