package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// settled waits until the store has loaded its fingerprints.
func settled(t testing.TB, s *Store) *Store {
	t.Helper()
	s.background.Wait()
	for s.known.set.Load() == nil {
		if err := s.changeAlone(t.Context(), func(*group) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// crawled returns a store with known links, without those below forgotten, which were forgotten again.
func crawled(t *testing.T, s *Store, n, forgotten int) []scheduler.Link {
	t.Helper()
	var links []scheduler.Link
	for i := range n {
		links = append(links, linkTo(t, fmt.Sprintf("http://h%d.test/%d", i%5, i)))
	}
	if _, _, err := s.Add(t.Context(), links, false); err != nil {
		t.Fatal(err)
	}
	forgetAll(t, s, links[:forgotten])
	return links
}

func forgetAll(t *testing.T, s *Store, links []scheduler.Link) {
	t.Helper()
	for _, l := range links {
		if err := s.Forget(t.Context(), l.URL.Key(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// has counts the links that the set holds.
func has(s *Store, links []scheduler.Link) int {
	n := 0
	for _, l := range links {
		if s.known.set.Load().Has(l.URL.Key()) {
			n++
		}
	}
	return n
}

// findAll completes a page that links to all of links and checks that each is known.
func findAll(t *testing.T, s *Store, links []scheduler.Link) {
	t.Helper()
	page := linkTo(t, "http://page.test/0")
	for i := 1; ; i++ { // one that was never seen
		if _, err := s.Lookup(t.Context(), page.URL.Key()); err != nil {
			break
		}
		page = linkTo(t, fmt.Sprintf("http://page.test/%d", i))
	}
	if _, _, err := s.Add(t.Context(), []scheduler.Link{page}, false); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Lookup(t.Context(), page.URL.Key())
	if err != nil {
		t.Fatal(err)
	}
	c := scheduler.Completion{Key: page.URL.Key(), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec, Links: links}
	c.Next.State = scheduler.AtRest
	if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if _, err := s.Lookup(t.Context(), l.URL.Key()); err != nil {
			t.Errorf("%s: %v", l.URL, err)
		}
	}
}

// copyOf returns the store as a process that is killed now would leave it.
func copyOf(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	copyTo(t, dir, to)
	return to
}

func TestKnownAfterClose(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, quick)
	links := crawled(t, s, 500, 100)
	closeStore(t, s)
	s = settled(t, openStore(t, dir, quick))
	if a, b := has(s, links[:100]), has(s, links[100:]); a != 0 || b != 400 {
		t.Errorf("%d of 100 forgotten URLs and %d of 400 known ones are in the set", a, b)
	}
	if keys := countKeys(t, s, record.KindRemoval); keys != 0 {
		t.Errorf("%d notes of removals are left after the file was written", keys)
	}
	findAll(t, s, links)
	mustVerify(t, s)
}

// TestKnownAfterKill: removals after the file was written are effective, also of URLs that came back and went again,
// and newer URLs are found by reading.
func TestKnownAfterKill(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	links := crawled(t, s, 500, 100)
	closeStore(t, s)
	s = settled(t, openStore(t, dir, Options{}))
	forgetAll(t, s, links[100:200])
	findAll(t, s, links[:50])     // forgotten before the file was written, back since
	forgetAll(t, s, links[:10])   // and gone again
	findAll(t, s, links[100:120]) // forgotten since and back
	killed := copyOf(t, dir)      // with s still open: as after kill -9
	closeStore(t, s)
	s = settled(t, openStore(t, killed, Options{}))
	if s.ClosedCleanly() {
		t.Error("closed cleanly")
	}
	if n := has(s, links[:10]) + has(s, links[50:100]) + has(s, links[120:200]); n != 0 {
		t.Errorf("%d forgotten URLs are in the set", n)
	}
	if n := has(s, links[200:]); n != 300 {
		t.Errorf("%d of 300 URLs of the file are in the set", n)
	}
	mustVerify(t, s)
	findAll(t, s, links)
	// The committer lets the set learn of a batch after its writes were answered.
	for range 100_000 {
		if has(s, links) == 500 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := has(s, links); n != 500 {
		t.Errorf("%d of 500 URLs are in the set after they were found", n)
	}
	mustVerify(t, s)
}

// TestKnownWhileClosing: a store that is closed while it loads the set does not rebuild it, and logs no warning.
func TestKnownWhileClosing(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, quick)
	crawled(t, s, 500, 100)
	closeStore(t, s)
	s = settled(t, openStore(t, dir, quick))
	var words strings.Builder
	ended := &Store{kv: s.kv, dir: s.dir, log: textLogger(&words), clean: true, quit: make(chan struct{}), loaded: make(chan loaded, 1)}
	close(ended.quit)
	if _, err := ended.readKnown(); !errors.Is(err, scheduler.ErrClosed) {
		t.Fatalf("the set is read while the store is closed: %v", err)
	}
	ended.loadKnown()
	if words.Len() > 0 {
		t.Errorf("it is logged: %s", words.String())
	}
	mustVerify(t, s)
}

// TestKnownFileBad: a file of another state is not used, and the set is rebuilt.
func TestKnownFileBad(t *testing.T) {
	for name, hurt := range map[string]func(t *testing.T, dir string){
		"missing": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, badgerkv.SavedName)); err != nil {
				t.Fatal(err)
			}
		},
		"damaged": func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, badgerkv.SavedName), 700) },
		"cut to its number": func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, badgerkv.SavedName), 8); err != nil {
				t.Fatal(err)
			}
		},
		"of another store": func(t *testing.T, dir string) {
			other := t.TempDir()
			s := openStore(t, other, quick)
			crawled(t, s, 600, 0) // all that is forgotten here is known there
			closeStore(t, s)
			b := testdir.Read(t, filepath.Join(other, badgerkv.SavedName))
			if err := os.WriteFile(filepath.Join(dir, badgerkv.SavedName), b, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir, quick)
			links := crawled(t, s, 500, 100)
			closeStore(t, s)
			hurt(t, dir)
			var words strings.Builder
			s = settled(t, openStore(t, dir, Options{Durability: OS, Logger: textLogger(&words)}))
			if !strings.Contains(words.String(), "rebuilding the fingerprints of known URLs") {
				t.Errorf("the log does not say that the set is made again: %s", words.String())
			}
			if a, b := has(s, links[:100]), has(s, links[100:]); a != 0 || b != 400 {
				t.Errorf("%d of 100 forgotten URLs and %d of 400 known ones are in the set", a, b)
			}
			findAll(t, s, links)
			mustVerify(t, s)
		})
	}
}

// TestKnownUnsynced: a killed process's file is not used if commits were not synced, since they may be lost.
func TestKnownUnsynced(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, quick)
	links := crawled(t, s, 100, 0)
	closeStore(t, s)
	s = settled(t, openStore(t, dir, quick))
	killed := copyOf(t, dir)
	closeStore(t, s)
	var words strings.Builder
	s = settled(t, openStore(t, killed, Options{Durability: OS, Logger: textLogger(&words)}))
	if !strings.Contains(words.String(), "killed before it synced") || has(s, links) != 100 {
		t.Errorf("%d of 100 in the set; the log says %s", has(s, links), words.String())
	}
}

func countKeys(t *testing.T, s *Store, kind byte) int {
	t.Helper()
	return len(keysOfKind(t, s, kind))
}

func TestTouched(t *testing.T) {
	s := openStore(t, t.TempDir(), quick)
	k := weburl.Key{8: 1}
	var same weburl.Key
	same[8], same[15] = 1, 9 // shares the slot
	err := s.changeAlone(t.Context(), func(g *group) error {
		first := s.touched.first
		if !g.unchanged(k, first) || g.unchanged(k, first-1) || g.unchanged(k, 0) {
			t.Error("what was never changed counts as changed since the store was opened, or a mark of another process is trusted")
		}
		g.touch(k)
		if g.unchanged(k, g.batch.no-1) || !g.unchanged(k, g.batch.no) {
			t.Error("a change is not seen")
		}
		if g.unchanged(same, g.batch.no-1) {
			t.Error("a URL of the same slot counts as unchanged")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStats looks at what the store tells of itself.
func TestStats(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	crawled(t, s, 100, 10)
	st, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if st.Commits == 0 || st.Writes < 11 || st.LastCommit <= 0 || st.LongestCommit < st.LastCommit ||
		st.LogBytes == 0 || st.FingerprintBytes == 0 || st.FingerprintLoading {
		t.Errorf("%+v", st)
	}
	closeStore(t, s)
}
