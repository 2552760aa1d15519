package badgerstore

import (
	"encoding/binary"
	"fmt"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// orderPlace is where an order of a URL is kept, and what must be known of it when it goes.
// A URL has at most one that waits (b KEY) and one deletion that rests or is held (j KEY).
type orderPlace struct {
	kind          byte // kindOrder, kindHeld, kindResting or kindEdit
	moved, delete bool // false in format 2
	group         groupID
	seq           uint64
	size          uint64 // of the body
	segment       uint64 // that holds the body; 0: none
}

// groupID is the host of deletions that rest, or the number of the edit that ordered them;
// zero of other orders.
type groupID [hostLen]byte

func hostGroup(h weburl.HostKey) groupID { return groupID(h) }

func editGroup(edit uint64) (id groupID) {
	binary.BigEndian.PutUint64(id[:], edit)
	return id
}

// restingPlace is where a deletion rests, but for its number.
func restingPlace(h weburl.HostKey, edit uint64) orderPlace {
	if edit != 0 {
		return orderPlace{kind: kindEdit, group: editGroup(edit)}
	}
	return orderPlace{kind: kindResting, group: hostGroup(h)}
}

// numbered is the place with the number and what must be known of an order.
func (p orderPlace) numbered(seq uint64, o *storedOrder) orderPlace {
	p.seq, p.moved, p.delete, p.size, p.segment = seq, o.moved, o.op == push.Delete, o.size(), o.place.segment
	return p
}

// rests says that its order is a deletion of the group.
func (p orderPlace) rests() bool { return p.kind == kindResting || p.kind == kindEdit }

// deletion is what the record of its URL says of it.
func (p orderPlace) deletion() scheduler.Deletion {
	switch p.kind {
	case kindHeld:
		return scheduler.DeletionHeld
	case kindResting, kindEdit:
		return scheduler.DeletionResting
	}
	return scheduler.NoDeletion
}

func (p orderPlace) key(k weburl.Key) []byte {
	if p.rests() {
		return restingKey(p.kind, p.group, p.seq, k)
	}
	return orderKey(p.kind, p.seq, k)
}

// named is the key under which the place is stored.
func (p orderPlace) named(k weburl.Key) []byte {
	if p.kind == kindOrder {
		return byURLKey(k)
	}
	return deletionKey(k)
}

func (p orderPlace) append(b []byte) []byte {
	var f byte
	if p.delete {
		f |= orderDeletes
	}
	if p.moved {
		f |= orderMoved
	}
	b = append(b, placeVersion, p.kind, f)
	if p.rests() {
		b = append(b, p.group[:]...)
	}
	b = binary.AppendUvarint(b, p.seq)
	return binary.AppendUvarint(binary.AppendUvarint(b, p.size), p.segment)
}

func decodeOrderPlace(b []byte) (orderPlace, error) {
	r := &reader{b: b}
	var p orderPlace
	switch v := r.byte(); {
	case r.err != nil:
	case v == valueVersion:
		p = orderPlace{kind: r.byte(), seq: r.uvarint(), size: r.uvarint()}
	case v == placeVersion:
		p.kind = r.byte()
		f := r.enum("flags of an order", orderInSegment)
		p.moved, p.delete = f&orderMoved != 0, f&orderDeletes != 0
		if p.rests() {
			copy(p.group[:], r.bytes(uint64(len(p.group))))
		}
		p.seq, p.size, p.segment = r.uvarint(), r.uvarint(), r.uvarint()
	default:
		r.fail(fmt.Errorf("place of an order has version %d, this program knows %d and %d", v, valueVersion, placeVersion))
	}
	if r.err == nil && p.kind != kindOrder && p.kind != kindHeld && !p.rests() {
		r.fail(fmt.Errorf("order state %q is not known", p.kind))
	}
	return p, r.end()
}

// edit is the number of the edit whose group it is.
func (id groupID) edit() uint64 { return binary.BigEndian.Uint64(id[:]) }
