package record

import (
	"encoding/binary"
	"fmt"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form: version, kind, flags, the group of a resting deletion, and number, size and
// segment as uvarints.

// OrderPlace is where an order of a URL is kept, and what must be known of it when it goes.
// A URL has at most one that waits (b KEY) and one deletion that rests or is held (j KEY).
type OrderPlace struct {
	Kind          byte // KindOrder, KindHeld, KindResting or KindEdit
	Moved, Delete bool
	Group         Group
	Seq           uint64
	Size          uint64 // of the body
	Segment       uint64 // that holds the body; 0: none
}

// Group is the host of deletions that rest, or the number of the edit that ordered them;
// zero of other orders.
type Group [hostLen]byte

func hostGroup(h weburl.HostKey) Group { return Group(h) }

func editGroup(edit uint64) (id Group) {
	binary.BigEndian.PutUint64(id[:], edit)
	return id
}

// RestingPlace is where a deletion rests, except for its number.
func RestingPlace(h weburl.HostKey, edit uint64) OrderPlace {
	if edit != 0 {
		return OrderPlace{Kind: KindEdit, Group: editGroup(edit)}
	}
	return OrderPlace{Kind: KindResting, Group: hostGroup(h)}
}

// Numbered is the place with the number and what must be known of an order.
func (p OrderPlace) Numbered(seq uint64, o *Order) OrderPlace {
	p.Seq, p.Moved, p.Delete, p.Size, p.Segment = seq, o.Moved, o.Op == push.Delete, o.Size(), o.Place.Segment
	return p
}

// Rests reports whether its order is a deletion of the group.
func (p OrderPlace) Rests() bool { return p.Kind == KindResting || p.Kind == KindEdit }

// Deletion is what the record of its URL says of it.
func (p OrderPlace) Deletion() scheduler.Deletion {
	switch p.Kind {
	case KindHeld:
		return scheduler.DeletionHeld
	case KindResting, KindEdit:
		return scheduler.DeletionResting
	}
	return scheduler.NoDeletion
}

// Key is the order's own key.
func (p OrderPlace) Key(k weburl.Key) []byte {
	if p.Rests() {
		return restingKey(p.Kind, p.Group, p.Seq, k)
	}
	return OrderKey(p.Kind, p.Seq, k)
}

// IndexKey is the key under which the place is stored.
func (p OrderPlace) IndexKey(k weburl.Key) []byte {
	if p.Kind == KindOrder {
		return WaitingKey(k)
	}
	return DeletionKey(k)
}

// Append writes p behind b.
func (p OrderPlace) Append(b []byte) []byte {
	var f byte
	if p.Delete {
		f |= orderDeletes
	}
	if p.Moved {
		f |= orderMoved
	}
	b = append(b, valueVersion, p.Kind, f)
	if p.Rests() {
		b = append(b, p.Group[:]...)
	}
	b = binary.AppendUvarint(b, p.Seq)
	return binary.AppendUvarint(binary.AppendUvarint(b, p.Size), p.Segment)
}

// DecodeOrderPlace reads what Append wrote.
func DecodeOrderPlace(b []byte) (OrderPlace, error) {
	r := newReader(b)
	p := OrderPlace{Kind: r.byte()}
	f := r.enum("flags of an order", orderInSegment)
	p.Moved, p.Delete = f&orderMoved != 0, f&orderDeletes != 0
	if p.Rests() {
		copy(p.Group[:], r.bytes(uint64(len(p.Group))))
	}
	p.Seq, p.Size, p.Segment = r.uvarint(), r.uvarint(), r.uvarint()
	if r.err == nil && p.Kind != KindOrder && p.Kind != KindHeld && !p.Rests() {
		r.fail(fmt.Errorf("order state %q is not known", p.Kind))
	}
	return p, r.end()
}

// edit is the number of the edit whose group it is.
func (id Group) edit() uint64 { return binary.BigEndian.Uint64(id[:]) }

// DeletionGroup is the group of a deletion that rests.
func (p OrderPlace) DeletionGroup() scheduler.DeletionGroup {
	if p.Kind == KindEdit {
		return scheduler.DeletionGroup{Edit: p.Group.edit()}
	}
	return scheduler.DeletionGroup{Host: weburl.HostKey(p.Group)}
}
