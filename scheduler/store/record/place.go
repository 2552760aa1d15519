package record

import (
	"encoding/binary"
	"fmt"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form: version, kind, flags, the group of a pending loss, and number, size and segment as uvarints.

// OrderPlace is the place of a URL's order, with what is needed to remove it. A URL has at most one waiting order (b
// KEY) and one pending loss (j KEY).
type OrderPlace struct {
	Kind          byte // KindOrder, KindHostLoss or KindEditLoss
	Moved, Delete bool
	Group         Group
	Seq           uint64
	Size          uint64 // of the body
	Segment       uint64 // the one that holds the body; 0: none
}

// Group is the host of pending losses, or the number of the edit that caused them; zero for other orders.
type Group [hostLen]byte

func hostGroup(h weburl.HostKey) Group { return Group(h) }

func editGroup(edit uint64) (id Group) {
	binary.BigEndian.PutUint64(id[:], edit)
	return id
}

// PendingPlace returns the place of a pending loss, without its number.
func PendingPlace(h weburl.HostKey, edit uint64) OrderPlace {
	if edit != 0 {
		return OrderPlace{Kind: KindEditLoss, Group: editGroup(edit)}
	}
	return OrderPlace{Kind: KindHostLoss, Group: hostGroup(h)}
}

// Numbered returns the place with an order's number and body.
func (p OrderPlace) Numbered(seq uint64, o *Order) OrderPlace {
	p.Seq, p.Moved, p.Delete, p.Size, p.Segment = seq, o.Moved, o.Op == push.Delete, o.Size(), o.Place.Segment
	return p
}

// Pends reports whether it is the place of a pending loss of the group.
func (p OrderPlace) Pends() bool { return p.Kind == KindHostLoss || p.Kind == KindEditLoss }

// Key returns the order's own key.
func (p OrderPlace) Key(k weburl.Key) []byte {
	if p.Pends() {
		return pendingKey(p.Kind, p.Group, p.Seq, k)
	}
	return OrderKey(p.Kind, p.Seq, k)
}

// IndexKey returns the key under which the place is stored.
func (p OrderPlace) IndexKey(k weburl.Key) []byte {
	if p.Kind == KindOrder {
		return WaitingKey(k)
	}
	return DeletionKey(k)
}

// Append appends p to b.
func (p OrderPlace) Append(b []byte) []byte {
	var f byte
	if p.Delete {
		f |= orderDeletes
	}
	if p.Moved {
		f |= orderMoved
	}
	b = append(b, valueVersion, p.Kind, f)
	if p.Pends() {
		b = append(b, p.Group[:]...)
	}
	b = binary.AppendUvarint(b, p.Seq)
	return binary.AppendUvarint(binary.AppendUvarint(b, p.Size), p.Segment)
}

// DecodeOrderPlace decodes the output of Append.
func DecodeOrderPlace(b []byte) (OrderPlace, error) {
	r := newReader(b)
	p := OrderPlace{Kind: r.byte()}
	f := r.enum("flags of an order", orderInSegment)
	p.Moved, p.Delete = f&orderMoved != 0, f&orderDeletes != 0
	if p.Pends() {
		copy(p.Group[:], r.bytes(uint64(len(p.Group))))
	}
	p.Seq, p.Size, p.Segment = r.uvarint(), r.uvarint(), r.uvarint()
	if r.err == nil && p.Kind != KindOrder && !p.Pends() {
		r.fail(fmt.Errorf("unknown order state %q", p.Kind))
	}
	return p, r.end()
}

// edit returns the number of the group's edit.
func (id Group) edit() uint64 { return binary.BigEndian.Uint64(id[:]) }

// DeletionGroup returns the group of a pending loss.
func (p OrderPlace) DeletionGroup() scheduler.DeletionGroup {
	if p.Kind == KindEditLoss {
		return scheduler.DeletionGroup{Edit: p.Group.edit()}
	}
	return scheduler.DeletionGroup{Host: weburl.HostKey(p.Group)}
}

// SplitDeletionKey splits the key of a pending loss.
func SplitDeletionKey(b []byte) (p OrderPlace, k weburl.Key, err error) {
	p.Kind = b[0]
	if !p.Pends() || len(b) != pendingKeyLen {
		return p, k, ErrLength
	}
	p.Group = Group(b[1:])
	p.Seq, k = SplitOrderKey(b[hostLen:])
	return p, k, nil
}

// SplitPlaceOf splits the key of a waiting order or a pending loss.
func SplitPlaceOf(b []byte) (p OrderPlace, k weburl.Key, err error) {
	if b[0] != KindOrder {
		return SplitDeletionKey(b)
	}
	if len(b) != OrderKeyLen {
		return p, k, ErrLength
	}
	p.Kind = KindOrder
	p.Seq, k = SplitOrderKey(b)
	return p, k, nil
}
