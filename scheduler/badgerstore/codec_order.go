package badgerstore

import (
	"encoding/binary"
	"fmt"
	"math"
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

// orderVersion is that of orders and of where they are. Those of format 2 have
// recordVersion, hold their body, and lack the time and what the flags say.
const orderVersion = 2

// Flags of an order and of where it is.
const (
	orderDeletes   = 1 << iota // else it adds
	orderMoved                 // push.Entry.Moved
	orderInSegment             // its body is in a segment file, not in the value
	orderLost                  // its body was damaged and is given up
	orderFlagsEnd
)

// bodyPlace is where the body of an order lies. Segment 0: in the order's value.
type bodyPlace struct {
	segment, offset, length uint64
	sum                     uint32 // CRC-32C
}

// storedOrder is an order as it is stored: waiting, held, or of a dead letter.
type storedOrder struct {
	op          push.Op
	moved, lost bool
	at          time.Time // when it was stored, in whole seconds; zero in format 2
	url, source string
	place       bodyPlace
	body        []byte // if it is in no segment
}

// size is the length of the body.
func (o *storedOrder) size() uint64 {
	if o.place.segment != 0 {
		return o.place.length
	}
	return uint64(len(o.body))
}

func (o *storedOrder) flags() byte {
	var f byte
	if o.op == push.Delete {
		f |= orderDeletes
	}
	if o.moved {
		f |= orderMoved
	}
	if o.place.segment != 0 {
		f |= orderInSegment
	}
	if o.lost {
		f |= orderLost
	}
	return f
}

// entry is the order without its body.
func (o *storedOrder) entry(seq uint64) push.Entry {
	return push.Entry{Seq: seq, Op: o.op, URL: o.url, Source: o.source, Moved: o.moved, At: o.at}
}

func (o *storedOrder) append(b []byte) []byte {
	at := uint64(0)
	if !o.at.IsZero() {
		at = uint64(max(o.at.Unix(), 0))
	}
	b = binary.AppendUvarint(append(b, orderVersion, o.flags()), at)
	b = appendString(appendString(b, o.url), o.source)
	if p := o.place; p.segment != 0 {
		b = binary.AppendUvarint(b, p.segment)
		b = binary.AppendUvarint(b, p.offset)
		b = binary.AppendUvarint(b, p.length)
		return binary.BigEndian.AppendUint32(b, p.sum)
	}
	return append(b, o.body...)
}

// decodeOrder reads an order of this format or an older one. The body shares memory
// with b.
func decodeOrder(b []byte) (storedOrder, error) {
	if len(b) > 0 && b[0] == recordVersion {
		return decodeOldOrder(b)
	}
	r := &reader{b: b}
	if v := r.byte(); r.err == nil && v != orderVersion {
		r.fail(fmt.Errorf("order has version %d, this program knows %d and %d", v, recordVersion, orderVersion))
	}
	f := r.enum("flags of an order", orderFlagsEnd)
	o := storedOrder{moved: f&orderMoved != 0, lost: f&orderLost != 0}
	if f&orderDeletes != 0 {
		o.op = push.Delete
	}
	if at := r.uvarint(); at > math.MaxInt64 {
		r.fail(fmt.Errorf("time %d of an order is too late", at))
	} else if at != 0 {
		o.at = time.Unix(int64(at), 0).UTC()
	}
	o.url, o.source = r.string(), r.string()
	if f&orderInSegment == 0 {
		o.body = r.bytes(uint64(len(r.b)))
		return o, r.end()
	}
	o.place = bodyPlace{segment: r.uvarint(), offset: r.uvarint(), length: r.uvarint()}
	if sum := r.bytes(4); sum != nil {
		o.place.sum = binary.BigEndian.Uint32(sum)
	}
	if p := o.place; r.err == nil && (p.segment == 0 || p.length > MaxBody || p.offset > math.MaxInt64-MaxBody) {
		r.fail(fmt.Errorf("no body can be %d bytes from byte %d on of segment %d", p.length, p.offset, p.segment))
	}
	return o, r.end()
}

// decodeOldOrder reads an order of format 2.
func decodeOldOrder(b []byte) (storedOrder, error) {
	r := newReader(b)
	o := storedOrder{op: push.Op(r.enum("operation", byte(push.Delete)+1))}
	o.url, o.source = r.string(), r.string()
	o.body = r.bytes(uint64(len(r.b)))
	return o, r.end()
}

// storedDead is a dead letter as it is stored, but for its target and URL.
type storedDead struct {
	storedOrder
	seq   uint64
	at    time.Time
	words string
}

func (d *storedDead) encode() []byte {
	b := binary.AppendUvarint([]byte{recordVersion}, d.seq)
	b = appendString(appendTime(b, d.at), d.words)
	return d.append(b)
}

// letter is the dead letter without its body.
func (d *storedDead) letter(target string) push.Dead {
	return push.Dead{Entry: d.entry(d.seq), Target: target, Words: d.words, At: d.at}
}

// decodeDead reads a dead letter. The body shares memory with b.
func decodeDead(b []byte) (storedDead, error) {
	r := newReader(b)
	d := storedDead{seq: r.uvarint(), at: r.time(), words: r.string()}
	if r.err != nil {
		return storedDead{}, r.err
	}
	var err error
	d.storedOrder, err = decodeOrder(r.b)
	return d, err
}

// orderPlace is where the newest order of a URL is kept, and what must be known of it
// when it goes.
type orderPlace struct {
	kind          byte // kindOrder or kindHeld
	moved, delete bool // false in format 2
	seq           uint64
	size          uint64 // of the body
	segment       uint64 // that holds the body; 0: none
}

// placeOfOrder is the place of an order that is stored under a number.
func placeOfOrder(kind byte, seq uint64, o *storedOrder) orderPlace {
	return orderPlace{kind: kind, moved: o.moved, delete: o.op == push.Delete, seq: seq, size: o.size(), segment: o.place.segment}
}

func (p orderPlace) key(k weburl.Key) []byte { return orderKey(p.kind, p.seq, k) }

func (p orderPlace) append(b []byte) []byte {
	var f byte
	if p.delete {
		f |= orderDeletes
	}
	if p.moved {
		f |= orderMoved
	}
	b = binary.AppendUvarint(append(b, orderVersion, p.kind, f), p.seq)
	return binary.AppendUvarint(binary.AppendUvarint(b, p.size), p.segment)
}

func decodeOrderPlace(b []byte) (orderPlace, error) {
	r := &reader{b: b}
	var p orderPlace
	switch v := r.byte(); {
	case r.err != nil:
	case v == recordVersion:
		p = orderPlace{kind: r.byte(), seq: r.uvarint(), size: r.uvarint()}
	case v == orderVersion:
		p.kind = r.byte()
		f := r.enum("flags of an order", orderInSegment)
		p.moved, p.delete = f&orderMoved != 0, f&orderDeletes != 0
		p.seq, p.size, p.segment = r.uvarint(), r.uvarint(), r.uvarint()
	default:
		r.fail(fmt.Errorf("place of an order has version %d, this program knows %d and %d", v, recordVersion, orderVersion))
	}
	if r.err == nil && p.kind != kindOrder && p.kind != kindHeld {
		r.fail(fmt.Errorf("order state %q is not known", p.kind))
	}
	return p, r.end()
}

// segmentState is what is kept of a segment that bodies are needed of, or that is
// written to.
type segmentState struct {
	entries uint64 // orders and dead letters with their body in it
	live    uint64 // bytes of these bodies
	size    uint64 // bytes of all bodies that were ever stored in it
}

func (st segmentState) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, recordVersion), st.entries)
	return binary.AppendUvarint(binary.AppendUvarint(b, st.live), st.size)
}

// decodeSegmentState reads a segment's state; that of no value is zero.
func decodeSegmentState(b []byte) (segmentState, error) {
	if b == nil {
		return segmentState{}, nil
	}
	r := newReader(b)
	st := segmentState{entries: r.uvarint(), live: r.uvarint(), size: r.uvarint()}
	return st, r.end()
}

func encodeSeq(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func decodeSeq(b []byte) (uint64, error) {
	if len(b) != seqLen {
		return 0, fmt.Errorf("sequence number of %d bytes, want %d", len(b), seqLen)
	}
	return binary.BigEndian.Uint64(b), nil
}
