package scheduler

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// What is in flight is found without walking over it: hundreds of leases wait for the store
// at once. The Frontier's mutex guards it.

// lift begins the flight of a lease.
func (l *live) lift(lease *Lease) {
	lease.slot = len(l.flying)
	l.flying, l.marks = append(l.flying, lease), append(l.marks, markOf(lease.Key))
	r := lease.queue.reading
	i, _ := slices.BinarySearchFunc(r.flying, lease, bySeq)
	r.flying = slices.Insert(r.flying, i, lease)
}

// land ends it.
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
	for r.flying[i] != lease { // of two with one Seq
		i++
	}
	r.flying = slices.Delete(r.flying, i, i+1)
}

// throttle notes the Throttle of a lease in flight, nil if there is none.
func (l *live) throttle(lease *Lease, t *Throttle) {
	if lease.throttle = t; t != nil {
		l.throttled++
	}
}

// flies reports whether a URL of the host is in flight. Only keys with its mark are looked at,
// which are elsewhere in memory.
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
