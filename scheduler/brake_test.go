package scheduler

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/seeded"
)

func brakeOf(n int, set Brake, at time.Time) *brake {
	b := new(brake)
	for range n {
		b.admit(set, at, 1000, false)
	}
	return b
}

// TestBrakeClock: a clock that is set, with the process running or between two
// runs, neither opens the brake nor keeps it on for longer than a window.
func TestBrakeClock(t *testing.T) {
	set, at := Brake{On: true, Min: 10, Window: time.Hour}, time.Unix(1e9, 0) // without the monotonic clock
	for _, jump := range []time.Duration{-time.Second, -time.Hour, -365 * 24 * time.Hour, 30 * time.Minute} {
		for _, stored := range []bool{false, true} {
			b, now := brakeOf(20, set, at), at.Add(jump)
			if stored {
				v := b.note().Value
				b = new(brake)
				if err := b.load(v, now); err != nil {
					t.Fatal(err)
				}
			}
			if !b.admit(set, now, 1000, false) {
				t.Errorf("jump of %v, stored %t: the brake is open", jump, stored)
			}
			later := now.Add(2*time.Hour + 2*time.Minute)
			if b.admit(set, later, 1000, false) {
				t.Errorf("jump of %v, stored %t: on a window later", jump, stored)
			}
			if !b.since.IsZero() {
				t.Errorf("jump of %v, stored %t: says that it is on", jump, stored)
			}
		}
	}
}

// TestBrakeWindow compares with a list of all deletions: none leaves early, none
// more than a part late.
func TestBrakeWindow(t *testing.T) {
	set := Brake{On: true, Window: time.Hour}
	seeded.Check(t, func(t *rapid.T) {
		var b brake
		var all []time.Time
		now := time.Unix(1e9, 0)
		for range rapid.IntRange(1, 300).Draw(t, "deletions") {
			now = now.Add(time.Duration(rapid.IntRange(0, 240).Draw(t, "s")) * time.Second)
			b.admit(set, now, 1, rapid.Bool().Draw(t, "hold"))
			all = append(all, now)
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				v := b.note().Value
				if err := b.load(v, now); err != nil {
					t.Fatal(err)
				}
			}
			least, most := 0, 0
			for _, at := range all {
				if age := now.Sub(at); age < set.Window {
					least++
					most++
				} else if age <= set.Window+2*set.Window/(brakeSlots-1) {
					most++
				}
			}
			sent, held := b.count()
			if n := sent + held; n < least || n > most {
				t.Fatalf("%d deletions count, want %d to %d", n, least, most)
			}
			if len(b.slots) > brakeSlots+1 {
				t.Fatalf("%d slots", len(b.slots))
			}
			if (held > 0) == b.since.IsZero() {
				t.Fatalf("%d held since %v", held, b.since)
			}
		}
	})
}

// TestBrakeNoteIsSmall: it goes with each deletion.
func TestBrakeNoteIsSmall(t *testing.T) {
	set, b, now := Brake{On: true, Min: 1, Window: time.Hour}, new(brake), time.Unix(1e9, 0)
	for range 10_000 {
		b.admit(set, now, 1000, false)
		now = now.Add(time.Second)
	}
	if n := len(b.note().Value); n > 1000 {
		t.Errorf("the stored window has %d bytes", n)
	}
}

func FuzzBrakeLoad(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{1, 2, 3})
	f.Add(brakeOf(20, Brake{On: true, Window: time.Hour}, time.Unix(1e9, 0)).note().Value)
	f.Fuzz(func(t *testing.T, v []byte) {
		var b brake
		if err := b.load(v, time.Unix(1e9, 0)); err != nil {
			if !errors.Is(err, ErrDamaged) || len(b.slots) > 0 {
				t.Errorf("load = %v with %d slots", err, len(b.slots))
			}
			return
		}
		b.admit(Brake{On: true, Min: 1, Window: time.Hour}, time.Unix(1e9, 1), 10, false)
	})
}
