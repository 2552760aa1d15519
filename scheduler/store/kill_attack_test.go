package store

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// TestKilledAnywhere kills a child at random moments, during every kind of change: exactly what it acknowledged is
// stored.
func TestKilledAnywhere(t *testing.T) {
	r := seeded.Rand(t)
	a := attack{Dir: t.TempDir(), Durability: OS, MinFree: -1, Bodies: 3000}
	l := newLedger(a.Bodies)
	for round := range attackRounds(t, 3) {
		a.Seed, a.First = r.Uint64(), l.last
		lines := linesUntilEnd(r, round)
		e := attacked(t, a, l, func(n int) bool { return n == lines })
		e.wantKilled(t)
		l.checkKilled(t, a.Dir, e, round, round%2 == 1)
	}
}

// TestKilledReopening kills a child that opens and closes a store most of the time.
func TestKilledReopening(t *testing.T) {
	r := seeded.Rand(t)
	a := attack{Dir: t.TempDir(), Durability: OS, MinFree: -1, Bodies: 3000, Reopen: true}
	l := newLedger(a.Bodies)
	for round := range attackRounds(t, 3) {
		a.Seed, a.First = r.Uint64(), l.last
		lines := r.IntN(30)
		e := attacked(t, a, l, func(n int) bool {
			if n == lines {
				seeded.Pause(r, 20*time.Millisecond)
			}
			return n == lines
		})
		e.wantKilled(t)
		// One that was killed before its first line may not have made a store to read.
		l.checkKilled(t, a.Dir, e, round, r.IntN(2) == 0 && (round > 0 || e.lines > 0))
	}
}

// checkKilled opens the store of a killed process, unchanged if read-only. After an error, the store is kept.
func (l *ledger) checkKilled(t *testing.T, dir string, e ending, round int, readOnly bool) {
	t.Helper()
	image := copied(t, dir)
	defer func() {
		if !t.Failed() {
			if err := os.RemoveAll(image); err != nil {
				t.Error(err)
			}
			return
		}
		kept := fmt.Sprintf("%s/killed-%d-%d", os.TempDir(), os.Getpid(), round)
		if err := os.Rename(image, kept); err != nil {
			t.Error(err)
		}
		t.Logf("round %d, read-only %v, killed after %d lines; the store is kept in %s; the process said %q", round, readOnly, e.lines, kept, e.stderr)
	}()
	o := attackOptions()
	o.ReadOnly = readOnly
	s := openStore(t, dir, o)
	l.check(t, s)
	if !readOnly {
		l.probe(t, s)
	}
	closeStore(t, s)
	if t.Failed() {
		t.FailNow()
	}
}

// killPoints returns the points of Options.at, and one in Badger, that every attack passes.
func killPoints() []string {
	return []string{atGathered, atBodies, atBeforeCommit, atCommitted, atAnswered, atSnapshotWritten, atSnapshotRenamed, atCounted}
}

// passings is up to how many passings of a point a test waits for.
func passings(point string) int64 {
	switch point {
	case atSnapshotWritten, atSnapshotRenamed:
		return 3 // the file is written seldom
	case atCounted:
		return 2
	}
	return 200
}

// TestKilledAtPoints makes a child kill itself at each named point of the store, the first time or later.
func TestKilledAtPoints(t *testing.T) {
	r := seeded.Rand(t)
	points := killPoints()
	a := attack{Dir: t.TempDir(), Durability: OS, MinFree: -1, Bodies: 3000}
	l := newLedger(a.Bodies)
	rounds := attackRounds(t, 1) * len(points)
	if testing.Short() {
		r.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		rounds = min(rounds, len(points)/3)
	}
	for round := range rounds {
		a.Seed, a.First, a.Point = r.Uint64(), l.last, points[round%len(points)]
		a.Nth = 1
		if r.IntN(3) > 0 {
			a.Nth += r.Int64N(passings(a.Point))
		}
		e := attacked(t, a, l, nil)
		e.wantKilled(t)
		t.Logf("round %d: killed at passing %d of %s", round, a.Nth, a.Point)
		l.checkKilled(t, a.Dir, e, round, r.IntN(2) == 0)
	}
}
