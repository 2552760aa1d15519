package store

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestClockJumps moves the clock between 1970 and 2500 while URLs wait for times in and beyond that range: each becomes
// due exactly once, when the present clock reaches its time, and Due returns the time of the next.
func TestClockJumps(t *testing.T) {
	r := seeded.Rand(t)
	dir := t.TempDir()
	s := openStore(t, dir, attackOptions())
	ctx := t.Context()
	const urls = 60
	instants := []time.Time{
		time.Unix(0, 0), time.Unix(0, 1), time.Unix(-1, 999999999), time.Unix(1, 0), time.Unix(0, math.MaxInt64),
		time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC), time.Date(2262, 4, 11, 0, 0, 0, 0, time.UTC),
	}
	when := func() time.Time {
		if r.IntN(2) == 0 {
			return instants[r.IntN(len(instants))]
		}
		return time.Date(1960+r.IntN(302), time.Month(1+r.IntN(12)), r.IntN(28), r.IntN(24), 0, 0, r.IntN(1e9), time.UTC)
	}
	timed := map[int]time.Time{} // as the store must have it
	var all []int
	for i := range urls {
		all = append(all, i)
	}
	if _, _, err := s.Add(ctx, webLinks(all, ""), false); err != nil {
		t.Fatal(err)
	}
	settle := func(i int) {
		rec, err := s.Lookup(ctx, webKey(i))
		if err != nil || rec.State != scheduler.Waiting {
			t.Fatalf("%s: %+v, %v", webURL(i), rec, err)
		}
		c := scheduler.Completion{Key: webKey(i), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec}
		at := when()
		c.Next.State, c.Next.NextAt, c.Next.Class = scheduler.Timed, at, scheduler.OK
		if _, err := scheduler.CompleteAndWait(ctx, s, c); err != nil {
			t.Fatal(err)
		}
		timed[i] = at
	}
	for i := range urls {
		settle(i)
	}
	for step := range 300 {
		now, n := when(), 1+r.IntN(8)
		if now.Unix() < 0 {
			now = time.Unix(0, 0) // no system's clock is before that
		}
		if r.IntN(20) == 0 {
			now = time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		word := fmt.Sprintf("step %d, Due(%v, %d)", step, now, n)
		_, next, err := s.Due(ctx, now, scheduler.Refresh, n)
		if err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		var moved []int
		due, earliest := 0, time.Time{} // of those that are left
		for i, at := range timed {
			rec, err := s.Lookup(ctx, webKey(i))
			if err != nil {
				t.Fatalf("%s: %s: %v", word, webURL(i), err)
			}
			if !at.After(now) {
				due++
			}
			switch {
			case rec.State == scheduler.Waiting:
				if moved = append(moved, i); at.After(now) {
					t.Fatalf("%s: %s became due at %v", word, webURL(i), at)
				}
			case rec.State != scheduler.Timed || !rec.NextAt.Equal(at):
				t.Fatalf("%s: %s waits for %v, stored is %+v", word, webURL(i), at, rec)
			case earliest.IsZero() || at.Before(earliest):
				earliest = at
			}
		}
		if len(moved) != min(n, due) {
			t.Fatalf("%s: moved %d, %d are due", word, len(moved), due)
		}
		if !next.Equal(earliest) && (next.IsZero() || next.Unix() > 0 || earliest.Unix() > 0) {
			t.Fatalf("%s: says that %v is next, %v is", word, next, earliest)
		}
		for _, i := range moved {
			settle(i)
		}
		if step%100 == 50 {
			closeStore(t, s)
			s = openStore(t, dir, attackOptions())
		}
	}
	mustVerify(t, s)
}
