package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/seeded"
)

// stored is a tally as the next process reads it.
func stored(t rapid.TB, n *tally, now time.Time) *tally {
	r := varints{rest: n.append(nil)}
	got := readTally(&r, now)
	if r.bad || len(r.rest) > 0 {
		t.Fatalf("%d bytes are left, bad %t", len(r.rest), r.bad)
	}
	return &got
}

// TestTallyClock: a clock that is set, with the process running or between two runs,
// neither makes what was counted younger nor keeps it for longer than the span.
func TestTallyClock(t *testing.T) {
	at := time.Unix(1e9, 0) // without the monotonic clock
	for _, jump := range []time.Duration{-time.Second, -time.Hour, -365 * day, 30 * time.Minute} {
		for _, restart := range []bool{false, true} {
			n, now := new(tally), at.Add(jump)
			n.add(at, time.Hour, 20)
			if restart {
				n = stored(t, n, now)
			}
			if got := n.within(now, time.Hour, time.Hour); got != 20 {
				t.Errorf("jump of %v, restart %t: %d count, want 20", jump, restart, got)
			}
			if got := n.within(now.Add(59*time.Minute), time.Hour, time.Hour); jump < 0 && got != 20 {
				t.Errorf("jump of %v, restart %t: %d count 59 minutes later, want 20", jump, restart, got)
			}
			if got := n.within(now.Add(time.Hour+2*time.Minute), time.Hour, time.Hour); got != 0 {
				t.Errorf("jump of %v, restart %t: %d count an hour later, want none", jump, restart, got)
			}
		}
	}
	n := new(tally)
	for i := range 100 { // a clock that runs backwards ages nothing
		n.add(at.Add(-time.Duration(i)*time.Minute), time.Hour, 1)
	}
	if got := n.within(at.Add(-100*time.Minute), time.Hour, time.Hour); got != 100 {
		t.Errorf("%d count after a clock ran backwards, want 100", got)
	}
}

// TestTallyWithin compares with a list of all events: none leaves early, none more
// than a part late, for any while up to the span.
func TestTallyWithin(t *testing.T) {
	const span = 24 * time.Hour
	seeded.Check(t, func(t *rapid.T) {
		n := new(tally)
		type event struct {
			at time.Time
			n  int
		}
		var all []event
		now := time.Unix(1e9, 0)
		for range rapid.IntRange(1, 300).Draw(t, "times") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3600).Draw(t, "s")) * time.Second)
			e := event{now, rapid.IntRange(0, 5).Draw(t, "n")}
			n.add(now, span, e.n)
			all = append(all, e)
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				n = stored(t, n, now)
			}
			for _, while := range []time.Duration{time.Hour, span} {
				least, most := 0, 0
				for _, e := range all {
					switch age := now.Sub(e.at); {
					case age < while:
						least += e.n
						most += e.n
					case age <= while+2*span/(tallySlots-1):
						most += e.n
					}
				}
				if got := n.within(now, while, span); got < least || got > most {
					t.Fatalf("%d within %v, want %d to %d", got, while, least, most)
				}
			}
			if len(n.slots) > tallySlots+1 {
				t.Fatalf("%d slots", len(n.slots))
			}
		}
	})
}

// TestTallyIsSmall: it is stored with each deletion.
func TestTallyIsSmall(t *testing.T) {
	n, now := new(tally), time.Unix(1e9, 0)
	for range 10_000 {
		n.add(now, time.Hour, 1000)
		now = now.Add(time.Second)
	}
	if size := len(n.append(nil)); size > 1000 {
		t.Errorf("the stored tally has %d bytes", size)
	}
}
