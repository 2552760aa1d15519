package badgerstore

import (
	"math/rand/v2"
	"testing"
)

// TestKilledAnywhere kills a child at random moments, while it makes every kind of
// change, and wants exactly what it was told to be stored.
func TestKilledAnywhere(t *testing.T) {
	seed := attackSeed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	a := attack{Dir: t.TempDir(), Durability: OS, MinFree: -1, Bodies: 3000}
	l := newLedger(a.Bodies)
	for round := range attackRounds(t, 3) {
		a.Seed, a.First = r.Uint64(), l.last
		lines := linesUntilEnd(r, round)
		attacked(t, a, l, func(n int) bool { return n == lines }).wantKilled(t)
		l.checkKilled(t, a.Dir, round, round%2 == 1)
	}
}

// checkKilled opens a store whose process was killed. Read-only, it is left as it is.
func (l *ledger) checkKilled(t *testing.T, dir string, round int, readOnly bool) {
	t.Helper()
	o := attackOptions()
	o.ReadOnly = readOnly
	s := openStore(t, dir, o)
	l.check(t, s)
	if !readOnly {
		l.probe(t, s)
	}
	closeStore(t, s)
	if t.Failed() {
		t.Fatalf("round %d", round)
	}
}

// killPoints are the points of Options.at that every attack passes.
func killPoints() []string {
	return []string{atGathered, atBeforeCommit, atCommitted, atAnswered, atSnapshotWritten, atSnapshotRenamed}
}

// passings is up to how many passings of a point a test waits for.
func passings(point string) int64 {
	if point == atSnapshotWritten || point == atSnapshotRenamed {
		return 3 // the file is written seldom
	}
	return 200
}

// TestKilledAtPoints lets a child kill itself at each named point of the store, one
// after the other: the first time that it is there, or later.
func TestKilledAtPoints(t *testing.T) {
	seed := attackSeed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	points := killPoints()
	a := attack{Dir: t.TempDir(), Durability: OS, MinFree: -1, Bodies: 3000}
	l := newLedger(a.Bodies)
	for round := range attackRounds(t, 1) * len(points) {
		a.Seed, a.First, a.Point = r.Uint64(), l.last, points[round%len(points)]
		a.Nth = 1
		if r.IntN(3) > 0 {
			a.Nth += r.Int64N(passings(a.Point))
		}
		attacked(t, a, l, nil).wantKilled(t)
		if l.checkKilled(t, a.Dir, round, r.IntN(2) == 0); t.Failed() {
			t.Fatalf("killed at passing %d of %s", a.Nth, a.Point)
		}
	}
}
