package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

// TestFlights: whatever starts and lands in whichever order, the floor of a queue and what is
// in flight are as a walk over all leases finds them.
func TestFlights(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	h := &host{live: &live{whole: -1}}
	for s := range Source(2) {
		h.queues = &queue{host: h, source: s, sibling: h.queues, reading: &reading{after: 1 << 20}}
	}
	some := &Throttle{}
	var flying []*Lease
	for range 5000 {
		q := h.queue(Source(r.IntN(2)))
		if len(flying) < 20 || r.IntN(2) > 0 && len(flying) < 300 {
			l := &Lease{Seq: uint64(r.IntN(1000)), queue: q, Key: weburl.Key{byte(r.IntN(20)), 15: byte(r.IntN(20))}}
			h.live.lift(l)
			if r.IntN(5) == 0 {
				h.live.throttle(l, some)
			}
			flying = append(flying, l)
		} else {
			i := r.IntN(len(flying))
			h.live.land(flying[i])
			flying = slices.Delete(flying, i, i+1)
		}
		of := flying[r.IntN(len(flying))]
		floor, throttled := of.queue.reading.after+1, 0
		for _, l := range flying {
			if l.queue == of.queue && l != of {
				floor = min(floor, l.Seq)
			}
			if l.throttle != nil {
				throttled++
			}
			if h.live.inFlight[l.slot] != l {
				t.Fatal("a lease is not where it says")
			}
		}
		k := weburl.Key{byte(r.IntN(20)), 15: byte(r.IntN(20))}
		if flies := slices.ContainsFunc(flying, func(l *Lease) bool { return l.Key == k }); h.hasInFlight(k) != flies {
			t.Fatalf("%v is in flight: %v, want %v", k, !flies, flies)
		}
		if got := of.queue.floor(of); got != floor {
			t.Fatalf("the floor is %d, want %d", got, floor)
		}
		if h.live.throttled != throttled || len(h.live.inFlight) != len(flying) {
			t.Fatalf("%d in flight, %d of them throttled, want %d and %d", len(h.live.inFlight), h.live.throttled, len(flying), throttled)
		}
	}
	for _, l := range flying {
		h.live.land(l)
	}
	for q := h.queues; q != nil; q = q.sibling {
		if len(h.live.inFlight)+len(q.reading.inFlight)+h.live.throttled > 0 {
			t.Error("something is in flight still")
		}
	}
}
