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
	lease.slot = len(l.inFlight)
	l.inFlight, l.marks = append(l.inFlight, lease), append(l.marks, markOf(lease.Key))
	r := lease.queue.reading
	i, _ := slices.BinarySearchFunc(r.inFlight, lease, bySeq)
	r.inFlight = slices.Insert(r.inFlight, i, lease)
}

// land removes a lease from those in flight.
func (l *live) land(lease *Lease) {
	last := len(l.inFlight) - 1
	l.inFlight[lease.slot] = l.inFlight[last]
	l.inFlight[lease.slot].slot = lease.slot
	l.inFlight[last] = nil
	l.marks[lease.slot] = l.marks[last]
	l.inFlight, l.marks = l.inFlight[:last], l.marks[:last]
	if lease.throttle != nil {
		l.throttled--
	}
	r := lease.queue.reading
	i, _ := slices.BinarySearchFunc(r.inFlight, lease, bySeq)
	for r.inFlight[i] != lease { // two leases may have one Seq
		i++
	}
	r.inFlight = slices.Delete(r.inFlight, i, i+1)
}

// throttle sets the Throttle of a lease in flight, nil if it has none.
func (l *live) throttle(lease *Lease, t *Throttle) {
	if lease.throttle = t; t != nil {
		l.throttled++
	}
}

// hasInFlight reports whether a URL of the host is in flight. It reads only the keys, stored elsewhere in memory, whose
// mark matches.
func (h *host) hasInFlight(k weburl.Key) bool {
	if h.live == nil {
		return false
	}
	for i, mark := range h.live.marks {
		if mark == markOf(k) && h.live.inFlight[i].Key == k {
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
