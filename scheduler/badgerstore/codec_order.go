package badgerstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// orderVersion is that of orders, placeVersion that of where they are. Those of format 2
// have valueVersion, hold their body, and lack the time and what the flags say. Orders of
// format 3 have orderVersion3 and know nothing of rest.
const (
	orderVersion  = 3
	orderVersion3 = 2
	placeVersion  = 2
)

// Flags of an order and of where it is.
const (
	orderDeletes   = 1 << iota // else it adds
	orderMoved                 // push.Entry.Moved
	orderInSegment             // its body is in a segment file, not in the value
	orderLost                  // its body was damaged and is given up
	orderRests                 // it has what storedOrder.rest has
	orderFlagsEnd
)

// bodyPlace is where the body of an order lies. Segment 0: in the order's value.
type bodyPlace struct {
	segment, offset, length uint64
	sum                     uint32 // CRC-32C
}

// rest is what is stored of a deletion that rests, is held, or was so before it left.
type rest struct {
	reason scheduler.Reason
	hold   scheduler.Hold
	edit   uint64
	again  time.Time // in whole seconds
	text   string
}

func (t *rest) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, byte(t.reason), byte(t.hold)), t.edit)
	return appendString(appendSeconds(b, t.again), t.text)
}

func (r *reader) rest() rest {
	t := rest{reason: r.reason(), hold: scheduler.Hold(r.byte())}
	if !scheduler.KnownHold(byte(t.hold)) {
		r.fail(fmt.Errorf("hold %d is not known", t.hold))
	}
	t.edit, t.again, t.text = r.uvarint(), r.seconds(), r.string()
	return t
}

// appendSeconds writes a time that is zero or in whole seconds since 1970.
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

// storedOrder is an order as it is stored: waiting, resting, held, or of a dead letter.
type storedOrder struct {
	op          push.Op
	moved, lost bool
	at          time.Time // when it was stored, in whole seconds; zero in format 2
	url, source string
	rest        rest
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
	if o.rest != (rest{}) {
		f |= orderRests
	}
	return f
}

// entry is the order without its body.
func (o *storedOrder) entry(seq uint64) push.Entry {
	return push.Entry{Seq: seq, Op: o.op, URL: o.url, Source: o.source, Moved: o.moved, At: o.at}
}

func (o *storedOrder) append(b []byte) []byte {
	f := o.flags()
	b = appendSeconds(append(b, orderVersion, f), o.at)
	b = appendString(appendString(b, o.url), o.source)
	if f&orderRests != 0 {
		b = o.rest.append(b)
	}
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
	if len(b) > 0 && b[0] == valueVersion {
		return decodeOldOrder(b)
	}
	r := &reader{b: b}
	end := byte(orderFlagsEnd)
	switch v := r.byte(); {
	case r.err != nil || v == orderVersion:
	case v == orderVersion3:
		end = orderRests
	default:
		r.fail(fmt.Errorf("order has version %d, this program knows %d to %d", v, valueVersion, orderVersion))
	}
	f := r.enum("flags of an order", end)
	o := storedOrder{moved: f&orderMoved != 0, lost: f&orderLost != 0}
	if f&orderDeletes != 0 {
		o.op = push.Delete
	}
	o.at, o.url, o.source = r.seconds(), r.string(), r.string()
	if f&orderRests != 0 {
		o.rest = r.rest()
	}
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
	b := binary.AppendUvarint([]byte{valueVersion}, d.seq)
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

// MaxBody is the longest body of an order, in bytes.
const MaxBody = 64 << 20
