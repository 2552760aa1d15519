package deletion

import (
	"testing"
	"time"
)

// TestArrivals: however many deletions come to rest, it is known since when each rests, a
// little late and never early, in bounded memory.
func TestArrivals(t *testing.T) {
	for _, pause := range []time.Duration{time.Second, 10 * time.Second, 5 * time.Minute} {
		h := new(restingHost)
		at := map[uint64]int64{}
		for i := range int64(20 * time.Hour / pause) {
			now := 1 + i*int64(pause)
			h.doubtful = i%1000 == 999
			seq := uint64(2*i + 10) //nolint:gosec // small
			h.arrived(seq, now)
			h.arrived(seq-1, now+1) // is known
			at[seq] = now
		}
		if n := len(h.arrivals); n > arrivalsMost {
			t.Errorf("each %v: %d arrivals", pause, n)
		}
		for seq, at := range at {
			late := time.Duration(h.arrival(seq).at - at)
			if late < 0 || late > arrivalsSlot {
				t.Fatalf("each %v: %d rests since %v after it came", pause, seq, late)
			}
			if h.arrival(seq-1) != h.arrival(seq) {
				t.Fatalf("each %v: %d is not in its arrival", pause, seq-1)
			}
			if i := (seq - 10) / 2; i%1000 == 999 && !h.arrival(seq).doubtful {
				t.Fatalf("each %v: %d is beyond doubt", pause, seq)
			}
		}
	}
	h := new(restingHost)
	for i := range 1000 { // beyond all that is known finely
		h.arrived(uint64(i+1), int64(i)*int64(time.Hour)) //nolint:gosec // small
		h.arrivals[len(h.arrivals)-1].asked = time.Unix(1, 0)
	}
	if len(h.arrivals) != arrivalsMost || h.arrival(1) != &h.arrivals[0] || h.arrivals[0].seq != 1000-arrivalsMost+1 || !h.arrivals[0].asked.IsZero() {
		t.Errorf("%d arrivals, the first %+v", len(h.arrivals), h.arrivals[0])
	}
}
