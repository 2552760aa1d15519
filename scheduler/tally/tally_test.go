package tally

import (
	"encoding/binary"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// stored is a tally as the next process reads it.
func stored(t rapid.TB, n *Tally, now time.Time) *Tally {
	r := Reader{Rest: n.Append(nil)}
	got := Read(&r, now)
	if r.Bad || len(r.Rest) > 0 {
		t.Fatalf("%d bytes are left, bad %t", len(r.Rest), r.Bad)
	}
	return &got
}

// TestTallyClock: a clock that is set, with the process running or between two runs,
// neither makes what was counted younger nor keeps it for longer than the span.
func TestTallyClock(t *testing.T) {
	at := time.Unix(1e9, 0) // without the monotonic clock
	for _, jump := range []time.Duration{-time.Second, -time.Hour, -365 * 24 * time.Hour, 30 * time.Minute} {
		for _, restart := range []bool{false, true} {
			n, now := new(Tally), at.Add(jump)
			n.Add(at, time.Hour, 20)
			if restart {
				n = stored(t, n, now)
			}
			if got := n.Within(now, time.Hour, time.Hour); got != 20 {
				t.Errorf("jump of %v, restart %t: %d count, want 20", jump, restart, got)
			}
			if got := n.Within(now.Add(59*time.Minute), time.Hour, time.Hour); jump < 0 && got != 20 {
				t.Errorf("jump of %v, restart %t: %d count 59 minutes later, want 20", jump, restart, got)
			}
			if got := n.Within(now.Add(time.Hour+2*time.Minute), time.Hour, time.Hour); got != 0 {
				t.Errorf("jump of %v, restart %t: %d count an hour later, want none", jump, restart, got)
			}
		}
	}
	n := new(Tally)
	for i := range 100 { // a clock that runs backwards ages nothing
		n.Add(at.Add(-time.Duration(i)*time.Minute), time.Hour, 1)
	}
	if got := n.Within(at.Add(-100*time.Minute), time.Hour, time.Hour); got != 100 {
		t.Errorf("%d count after a clock ran backwards, want 100", got)
	}
}

// TestTallyWithin compares with a list of all events: none leaves early, none more
// than a part late, for any while up to the span.
func TestTallyWithin(t *testing.T) {
	const span = 24 * time.Hour
	seeded.Check(t, func(t *rapid.T) {
		n := new(Tally)
		type event struct {
			at time.Time
			n  int
		}
		var all []event
		now := time.Unix(1e9, 0)
		for range rapid.IntRange(1, 300).Draw(t, "times") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3600).Draw(t, "s")) * time.Second)
			e := event{now, rapid.IntRange(0, 5).Draw(t, "n")}
			n.Add(now, span, e.n)
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
					case age <= while+2*span/(slotsMost-1):
						most += e.n
					}
				}
				if got := n.Within(now, while, span); got < least || got > most {
					t.Fatalf("%d within %v, want %d to %d", got, while, least, most)
				}
			}
			if len(n.slots) > slotsMost+1 {
				t.Fatalf("%d slots", len(n.slots))
			}
		}
	})
}

// TestTallyIsSmall: it is stored with each deletion.
func TestTallyIsSmall(t *testing.T) {
	n, now := new(Tally), time.Unix(1e9, 0)
	for range 10_000 {
		n.Add(now, time.Hour, 1000)
		now = now.Add(time.Second)
	}
	if size := len(n.Append(nil)); size > 1000 {
		t.Errorf("the stored tally has %d bytes", size)
	}
}

// TestDamaged: a count that is cut, of the future or of absurd size is told of.
func TestDamaged(t *testing.T) {
	now := time.Unix(1e9, 0)
	future := Tally{last: now, slots: []slot{{now.Add(time.Hour), 5}}} // would count for ever
	if r := (Reader{Rest: future.Append(nil)}); len(Read(&r, now).slots) > 0 || !r.Bad {
		t.Error("deletions of the future are read")
	}
	if r := (Reader{Rest: binary.AppendUvarint(binary.AppendVarint(nil, 0), 1<<40)}); len(Read(&r, now).slots) > 0 || !r.Bad {
		t.Error("more parts than there are are read")
	}
}
