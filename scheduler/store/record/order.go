package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form of an order: version, flags, time, URL, source, the rest by the flags, and its body or the body's place. A dead
// letter is a version, a number, a time, the target's message, and the order.

// Flags of an order and of its place.
const (
	orderDeletes   = 1 << iota // a deletion, otherwise a document
	orderMoved                 // push.Entry.Moved
	orderInSegment             // its body is in a segment file, not in the value
	orderLost                  // its body was damaged and is lost
	orderPends                 // it has the fields of Order.Pending
	orderFlagsEnd
)

// MaxBody is the longest body of an order, in bytes.
const MaxBody = 64 << 20

// BodyPlace is the place of an order's body. Segment 0: in the order's value.
type BodyPlace struct {
	Segment, Offset, Length uint64
	Sum                     uint32 // CRC-32C
}

// Pending is the stored part of a loss that is pending, or was before it was carried out.
type Pending struct {
	Reason scheduler.Reason
	Edit   uint64
	Text   string
	Loss   scheduler.Loss
}

// Flags of a loss.
const (
	lossExplicit = 1 << iota
	lossReplaces // it has hash and sketch of the new text
	lossFlagsEnd
)

func (t *Pending) append(b []byte) []byte {
	l := &t.Loss
	replaces := l.Hash != [16]byte{}
	f := flag(l.Explicit)*lossExplicit | flag(replaces)*lossReplaces
	b = binary.AppendUvarint(append(b, byte(t.Reason), f, byte(l.Least), l.Visits, l.Days, l.WellDay), t.Edit)
	for _, at := range [...]time.Time{l.First, l.Last, l.Counted} {
		b = appendSeconds(b, at)
	}
	if replaces {
		b = l.Sketch.Append(append(b, l.Hash[:]...))
	}
	return appendString(b, t.Text)
}

func (r *reader) pending() Pending {
	t := Pending{Reason: r.reason()}
	f := r.enum("flags of a loss", lossFlagsEnd)
	l := &t.Loss
	l.Explicit = f&lossExplicit != 0
	l.Least = scheduler.LossClass(r.enum("class of a loss", byte(scheduler.LossMost)+1))
	l.Visits, l.Days, l.WellDay = r.byte(), r.byte(), r.byte()
	t.Edit = r.uvarint()
	l.First, l.Last, l.Counted = r.seconds(), r.seconds(), r.seconds()
	if f&lossReplaces != 0 {
		copy(l.Hash[:], r.bytes(uint64(len(l.Hash))))
		l.Sketch = r.sketch()
	}
	t.Text = r.string()
	return t
}

// Order is a stored order: waiting, pending, or of a dead letter.
type Order struct {
	Op          push.Op
	Moved, Lost bool
	At          time.Time // when it was stored, in whole seconds
	URL, Source string
	Pending     Pending
	Place       BodyPlace
	Body        []byte // unless it is in a segment
}

// Size returns the length of the body.
func (o *Order) Size() uint64 {
	if o.Place.Segment != 0 {
		return o.Place.Length
	}
	return uint64(len(o.Body))
}

func (o *Order) flags() byte {
	var f byte
	if o.Op == push.Delete {
		f |= orderDeletes
	}
	if o.Moved {
		f |= orderMoved
	}
	if o.Place.Segment != 0 {
		f |= orderInSegment
	}
	if o.Lost {
		f |= orderLost
	}
	if o.Pending != (Pending{}) {
		f |= orderPends
	}
	return f
}

// Entry returns the order without its body.
func (o *Order) Entry(seq uint64) push.Entry {
	return push.Entry{Seq: seq, Op: o.Op, URL: o.URL, Source: o.Source, Moved: o.Moved, At: o.At}
}

// Append appends o to b.
func (o *Order) Append(b []byte) []byte {
	f := o.flags()
	b = appendSeconds(append(b, valueVersion, f), o.At)
	b = appendString(appendString(b, o.URL), o.Source)
	if f&orderPends != 0 {
		b = o.Pending.append(b)
	}
	if p := o.Place; p.Segment != 0 {
		b = binary.AppendUvarint(b, p.Segment)
		b = binary.AppendUvarint(b, p.Offset)
		b = binary.AppendUvarint(b, p.Length)
		return binary.BigEndian.AppendUint32(b, p.Sum)
	}
	return append(b, o.Body...)
}

// DecodeOrder decodes the output of Append. The body shares memory with b.
func DecodeOrder(b []byte) (Order, error) {
	r := newReader(b)
	f := r.enum("flags of an order", orderFlagsEnd)
	o := Order{Moved: f&orderMoved != 0, Lost: f&orderLost != 0}
	if f&orderDeletes != 0 {
		o.Op = push.Delete
	}
	o.At, o.URL, o.Source = r.seconds(), r.string(), r.string()
	if f&orderPends != 0 {
		o.Pending = r.pending()
	}
	if f&orderInSegment == 0 {
		o.Body = r.bytes(uint64(len(r.b)))
		return o, r.end()
	}
	o.Place = BodyPlace{Segment: r.uvarint(), Offset: r.uvarint(), Length: r.uvarint()}
	if sum := r.bytes(4); sum != nil {
		o.Place.Sum = binary.BigEndian.Uint32(sum)
	}
	if p := o.Place; r.err == nil && (p.Segment == 0 || p.Length > MaxBody || p.Offset > math.MaxInt64-MaxBody) {
		r.fail(fmt.Errorf("a body of %d bytes from byte %d of segment %d is not possible", p.Length, p.Offset, p.Segment))
	}
	return o, r.end()
}

// Dead is a stored dead letter, without its target and URL.
type Dead struct {
	Order
	Seq   uint64
	At    time.Time
	Words string
}

// Encode returns the value of a dead letter.
func (d *Dead) Encode() []byte {
	b := binary.AppendUvarint([]byte{valueVersion}, d.Seq)
	b = appendString(appendTime(b, d.At), d.Words)
	return d.Append(b)
}

// Letter returns the dead letter without its body.
func (d *Dead) Letter(target string) push.Dead {
	return push.Dead{Entry: d.Entry(d.Seq), Target: target, Words: d.Words, At: d.At}
}

// DecodeDead decodes a dead letter. The body shares memory with b.
func DecodeDead(b []byte) (Dead, error) {
	r := newReader(b)
	d := Dead{Seq: r.uvarint(), At: r.time(), Words: r.string()}
	if r.err != nil {
		return Dead{}, r.err
	}
	var err error
	d.Order, err = DecodeOrder(r.b)
	return d, err
}

// Listed returns a pending loss in the form of a scheduler.Store.
func (o *Order) Listed(k weburl.Key, p OrderPlace) scheduler.StoredDeletion {
	return scheduler.StoredDeletion{
		Key: k, Seq: p.Seq, URL: o.URL, Source: o.Source, Reason: o.Pending.Reason, Edit: o.Pending.Edit,
		Replaces: o.Op == push.Add, Text: o.Pending.Text, Loss: o.Pending.Loss,
	}
}
