package badgerstore

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func encodeHost(h *scheduler.HostState) []byte {
	b := appendString([]byte{hostVersion}, h.Origin)
	b = binary.AppendVarint(b, int64(h.Backoff))
	b = binary.AppendVarint(b, int64(h.Errors))
	b = binary.AppendVarint(b, int64(h.Delay))
	b = binary.AppendVarint(b, int64(h.Bad))
	b = appendString(b, h.BadPlace)
	if !h.NextAt.IsZero() {
		b = appendTime(b, h.NextAt)
	}
	return b
}

func decodeHost(b []byte) (scheduler.HostState, error) {
	r := &reader{b: b}
	version := r.byte()
	if r.err == nil && version != recordVersion && version != hostVersion {
		r.fail(fmt.Errorf("value has version %d, this program knows %d and %d", version, recordVersion, hostVersion))
	}
	h := scheduler.HostState{Origin: r.string()}
	h.Backoff = time.Duration(r.varint())
	h.Errors = int(r.varint())
	if version == hostVersion {
		h.Delay, h.Bad, h.BadPlace = time.Duration(r.varint()), int(r.varint()), r.string()
	}
	if r.err == nil && len(r.b) > 0 {
		h.NextAt = r.time()
	}
	return h, r.end()
}

// encodeOrder writes the value of a waiting or held order. The body is the last
// field and as long as the rest of the value: were bodies kept in segment files,
// only this function and decodeOrder would learn of it.
func encodeOrder(op push.Op, url, source string, body []byte) []byte {
	b := make([]byte, 0, 10+len(url)+len(source)+len(body))
	b = append(b, recordVersion, byte(op))
	b = appendString(b, url)
	b = appendString(b, source)
	return append(b, body...)
}

func decodeOrder(seq uint64, b []byte) (push.Entry, error) {
	r := newReader(b)
	e := push.Entry{Seq: seq, Op: push.Op(r.enum("operation", byte(push.Delete)+1))}
	e.URL, e.Source = r.string(), r.string()
	e.Body = append([]byte(nil), r.bytes(uint64(len(r.b)))...)
	return e, r.end()
}

func encodeDead(e *push.Entry, words string, at time.Time) []byte {
	b := []byte{recordVersion}
	b = binary.AppendUvarint(b, e.Seq)
	b = appendTime(b, at)
	b = appendString(b, words)
	return append(b, encodeOrder(e.Op, e.URL, e.Source, e.Body)...)
}

func decodeDead(target string, b []byte) (push.Dead, error) {
	r := newReader(b)
	seq := r.uvarint()
	d := push.Dead{Target: target, At: r.time(), Words: r.string()}
	if r.err != nil {
		return push.Dead{}, r.err
	}
	var err error
	d.Entry, err = decodeOrder(seq, r.b)
	return d, err
}

// orderPlace is where the newest order of a URL is kept, and the length of its body.
type orderPlace struct {
	kind byte // kindOrder or kindHeld
	seq  uint64
	size uint64
}

func (p orderPlace) key(k weburl.Key) []byte { return orderKey(p.kind, p.seq, k) }

func (p orderPlace) encode() []byte {
	b := binary.AppendUvarint([]byte{recordVersion, p.kind}, p.seq)
	return binary.AppendUvarint(b, p.size)
}

func decodeOrderPlace(b []byte) (orderPlace, error) {
	r := newReader(b)
	p := orderPlace{kind: r.byte(), seq: r.uvarint(), size: r.uvarint()}
	if r.err == nil && p.kind != kindOrder && p.kind != kindHeld {
		r.fail(fmt.Errorf("order state %q is not known", p.kind))
	}
	return p, r.end()
}

func encodeSeq(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func decodeSeq(b []byte) (uint64, error) {
	if len(b) != seqLen {
		return 0, fmt.Errorf("sequence number of %d bytes, want %d", len(b), seqLen)
	}
	return binary.BigEndian.Uint64(b), nil
}
