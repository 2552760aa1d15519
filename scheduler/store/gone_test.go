package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv"
)

// goAway makes URLs that rest, or wait in a queue, ones that are gone.
func goAway(t *testing.T, s *Store, links []scheduler.Link) {
	t.Helper()
	for _, l := range links {
		rec, err := s.Lookup(t.Context(), l.URL.Key())
		if err != nil {
			t.Fatal(err)
		}
		c := scheduler.Completion{Key: l.URL.Key(), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec}
		c.Next.State, c.Next.NextAt, c.Next.Class = scheduler.Timed, time.Unix(1<<32, 0), scheduler.Permanent
		c.Next.Settled, c.Next.Gone, c.Next.Misses = true, true, 1
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
	}
}

// back counts the links whose URLs wait again and are not gone any more.
func back(t *testing.T, s *Store, links []scheduler.Link) (n int) {
	t.Helper()
	for _, l := range links {
		rec, err := s.Lookup(t.Context(), l.URL.Key())
		if err != nil {
			t.Fatal(err)
		}
		if rec.State == scheduler.Waiting && !rec.Gone && !rec.Settled && rec.Misses == 1 {
			n++
		}
	}
	return n
}

// barrier waits until the committer has let the set learn of all batches.
func barrier(t *testing.T, s *Store) {
	t.Helper()
	if err := s.changeAlone(t.Context(), func(*group) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestGoneIsNoFingerprint: a gone URL is not in the set, whether that was kept, read from its file, updated by newer
// notes, or rebuilt.
func TestGoneIsNoFingerprint(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *Store, dir string) string{
		"lives on": func(*testing.T, *Store, string) string { return "" },
		"closed": func(t *testing.T, s *Store, dir string) string {
			closeStore(t, s)
			return dir
		},
		"killed": func(t *testing.T, _ *Store, dir string) string { return copyOf(t, dir) },
		"file lost": func(t *testing.T, s *Store, dir string) string {
			closeStore(t, s)
			if err := os.Remove(filepath.Join(dir, badgerkv.SavedName)); err != nil {
				t.Fatal(err)
			}
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir, Options{})
			links := crawled(t, s, 300, 0)
			goAway(t, s, links[:50])
			closeStore(t, s)
			s = settled(t, openStore(t, dir, Options{}))
			goAway(t, s, links[50:100]) // these are in the file
			findAll(t, s, links[:20])
			goAway(t, s, links[:10]) // back, and gone again
			barrier(t, s)
			if to := end(t, s, dir); to != "" {
				s = settled(t, openStore(t, to, Options{}))
			}
			if n := has(s, links[:10]) + has(s, links[20:100]); n != 0 {
				t.Errorf("%d URLs that are gone are in the set", n)
			}
			if n := has(s, links[100:]); n != 200 {
				t.Errorf("%d of 200 known URLs are in the set", n)
			}
			mustVerify(t, s)
			findAll(t, s, links)
			if n := back(t, s, links[:100]); n != 100 {
				t.Errorf("%d of 100 URLs are back", n)
			}
			barrier(t, s)
			if n := has(s, links); n != 300 {
				t.Errorf("%d of 300 URLs are in the set once they are back", n)
			}
			mustVerify(t, s)
		})
	}
}

// TestGoneInOneBatch: a link finds that its URL is gone before that is durable, and the second link that it no longer
// is.
func TestGoneInOneBatch(t *testing.T) {
	s := settled(t, openStore(t, t.TempDir(), quick))
	links := crawled(t, s, 2, 0)
	rec, err := s.Lookup(t.Context(), links[0].URL.Key())
	if err != nil {
		t.Fatal(err)
	}
	err = s.change(t.Context(), func(g *group) error {
		k := links[0].URL.Key()
		next := rec
		next.State, next.Gone = scheduler.AtRest, true
		var ps places
		if err := g.unplace(k, &rec); err != nil {
			return err
		}
		if err := g.replace(k, &rec, &next, &ps); err != nil {
			return err
		}
		for i, want := range []knowledge{isGone, isKnown} {
			if got, err := g.known(k); got != want || err != nil {
				t.Errorf("before link %d: %d, %v, want %d", i, got, err, want)
			}
			if err := g.link(k, &links[0], 0, &ps); err != nil {
				return err
			}
		}
		if len(ps.list) != 1 {
			t.Errorf("places %v", ps.list)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustVerify(t, s)
}
