package deletion

import (
	"slices"
	"time"
)

// It is known only so finely since when the deletions of a host rest: beyond arrivalsFine
// arrivals, those within arrivalsSlot are one, and beyond arrivalsMost the first two are.
const (
	arrivalsFine = 64
	arrivalsMost = 256
	arrivalsSlot = 10 * time.Minute
)

// arrived notes that deletions up to a number rest from now on.
func (h *restingHost) arrived(seq uint64, now int64) {
	n := len(h.arrivals)
	if n > 0 && seq <= h.arrivals[n-1].seq {
		return
	}
	next := arrival{seq: seq, from: now, at: now, doubtful: h.doubtful}
	h.doubtful = false
	if n >= arrivalsFine && now-h.arrivals[n-1].from < int64(arrivalsSlot) {
		next.join(&h.arrivals[n-1])
		h.arrivals[n-1] = next
		return
	}
	if n == arrivalsMost {
		h.arrivals[1].join(&h.arrivals[0])
		h.arrivals = slices.Delete(h.arrivals, 0, 1)
	}
	h.arrivals = append(h.arrivals, next)
}

// join takes in an earlier arrival: its deletions rest for no longer than the later ones.
func (a *arrival) join(earlier *arrival) {
	a.from, a.asked, a.doubtful = earlier.from, time.Time{}, a.doubtful || earlier.doubtful
}

// arrival is that of a deletion.
func (h *restingHost) arrival(seq uint64) *arrival {
	for i := range h.arrivals {
		if seq <= h.arrivals[i].seq {
			return &h.arrivals[i]
		}
	}
	return &arrival{seq: seq}
}
