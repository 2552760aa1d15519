package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/powercut"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// cut runs an attack on a disk with the content of from until the child has printed so many lines, cuts the power, and
// returns the disk's folder.
func cut(t *testing.T, from string, order powercut.Order, a attack, l *ledger, lines int) string {
	t.Helper()
	disk, err := powercut.Load(from, order)
	if err != nil {
		t.Fatal(err)
	}
	a.Dir = t.TempDir()
	unmount, err := disk.Mount(a.Dir)
	if errors.Is(err, powercut.ErrUnavailable) {
		testneed.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := attacked(t, a, l, func(n int) bool { return n == lines })
	if err := unmount(); err != nil {
		t.Fatal(err)
	}
	e.wantKilled(t)
	image := filepath.Join(t.TempDir(), "image")
	if err := disk.Image(image, a.Seed); err != nil {
		t.Fatal(err)
	}
	return image
}

// linesUntilEnd draws how many lines a child may print: sometimes hardly any, so that it ends while it opens the store.
func linesUntilEnd(r *rand.Rand, round int) int {
	if round%4 == 3 {
		return r.IntN(20)
	}
	return r.IntN(2000)
}

// TestPowerCut repeatedly cuts the power of a disk under a store with durability sync: everything acknowledged must be
// there. Every other time the power fails again before the store is closed.
func TestPowerCut(t *testing.T) {
	r := seeded.Rand(t)
	l := newLedger(2000)
	store := t.TempDir()
	for round := range attackRounds(t, 3) {
		a := attack{Seed: r.Uint64(), First: l.last, Durability: Sync, MinFree: -1, Bodies: l.bodies}
		before := store
		store = cut(t, before, powercut.Journal, a, l, linesUntilEnd(r, round))
		discardFiles(t, before)
		checked := store
		if round%2 == 1 {
			checked = copied(t, store)
		}
		s := openStore(t, checked, attackOptions())
		l.check(t, s)
		if checked == store {
			l.probe(t, s)
		}
		closeStore(t, s)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
		if checked != store {
			discardFiles(t, checked)
		}
	}
}

// discardFiles removes an unused store's files: those of 300 rounds fill a disk of 8 GB.
func discardFiles(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// TestPowerCutUnpromised cuts the power without guarantees: with durability os, and with a file system that keeps names
// only after their folder was synced. The store may have lost its newest changes, or report damage: a store that opens
// is intact.
func TestPowerCutUnpromised(t *testing.T) {
	seed := seeded.Seed(t)
	for _, c := range []struct {
		durability Durability
		order      powercut.Order
	}{{OS, powercut.Journal}, {OS, powercut.Posix}, {Sync, powercut.Posix}} {
		t.Run(fmt.Sprint(c.order, " ", c.durability), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			refused, found, lost := 0, 0, 0
			var image string
			for round := range attackRounds(t, 1) {
				a := attack{Seed: r.Uint64(), Durability: c.durability, MinFree: -1, Bodies: 2000}
				discardFiles(t, image) // of the round before
				image = cut(t, t.TempDir(), c.order, a, newLedger(a.Bodies), 500+r.IntN(1500))
				s, err := Open(image, attackOptions())
				if err != nil {
					if !errors.Is(err, scheduler.ErrDamaged) || !strings.Contains(err.Error(), kv.AdviceDamaged) {
						t.Fatalf("round %d: %v", round, err)
					}
					refused++
					continue
				}
				if faults := faultsIn(t, s); len(faults) > 0 {
					found++
					for _, f := range faults {
						t.Logf("round %d: %s: %s", round, f.URL, f.Words)
					}
					closeStore(t, s)
					continue
				}
				l := newLedger(a.Bodies)
				records := recordsOf(t, s)
				checkPlaces(t, s, records)
				checkCounts(t, s, records)
				l.adopt(records)
				l.probe(t, s)
				closeStore(t, s)
				if len(records) == 0 {
					lost++
				}
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
			t.Logf("refused as damaged %d, found by Verify %d, opened empty %d", refused, found, lost)
		})
	}
}
