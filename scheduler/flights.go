package scheduler

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// Leases in flight are found without a walk, since hundreds may wait for the store at once. The Frontier's mutex guards
// them.

// lift adds a lease to those in flight.
func (l *live) lift(lease *Lease) {
	lease.slot = len(l.flying)
	l.flying, l.marks = append(l.flying, lease), append(l.marks, markOf(lease.Key))
	r := lease.queue.reading
	i, _ := slices.BinarySearchFunc(r.flying, lease, bySeq)
	r.flying = slices.Insert(r.flying, i, lease)
}

// land removes a lease from those in flight.
func (l *live) land(lease *Lease) {
	last := len(l.flying) - 1
	l.flying[lease.slot] = l.flying[last]
	l.flying[lease.slot].slot = lease.slot
	l.flying[last] = nil
	l.marks[lease.slot] = l.marks[last]
	l.flying, l.marks = l.flying[:last], l.marks[:last]
	if lease.throttle != nil {
		l.throttled--
	}
	r := lease.queue.reading
	i, _ := slices.BinarySearchFunc(r.flying, lease, bySeq)
	for r.flying[i] != lease { // two leases may have one Seq
		i++
	}
	r.flying = slices.Delete(r.flying, i, i+1)
}

// throttle sets the Throttle of a lease in flight, nil if it has none.
func (l *live) throttle(lease *Lease, t *Throttle) {
	if lease.throttle = t; t != nil {
		l.throttled++
	}
}

// flies reports whether a URL of the host is in flight. It reads only the keys, stored elsewhere in memory, whose mark
// matches.
func (h *host) flies(k weburl.Key) bool {
	if h.live == nil {
		return false
	}
	for i, mark := range h.live.marks {
		if mark == markOf(k) && h.live.flying[i].Key == k {
			return true
		}
	}
	return false
}

func markOf(k weburl.Key) uint32 {
	c := k.Chance()
	return binary.LittleEndian.Uint32(c[:])
}

func bySeq(a, b *Lease) int { return cmp.Compare(a.Seq, b.Seq) }
