package badgerstore

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// unpackFormat3 returns a store as the last program of format 3 left it, after a crawl of a
// small site: 11 documents, of which three are gone and their deletions held by the brake;
// four pages that were linked to and never there; two documents that wait for a target which
// was down.
func unpackFormat3(t *testing.T) (dir string) { return unpacked(t, "format3.tar.gz") }

// unpacked is a store that is kept in testdata.
func unpacked(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o750))
	f, err := os.Open(filepath.Join("testdata", name))
	must(err)
	defer func() { _ = f.Close() }() // it was only read
	z, err := gzip.NewReader(f)
	must(err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		must(err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(r)
		must(err)
		must(os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), b, 0o600))
	}
}

func siteURL(name string) string { return "http://127.0.0.1:18743/" + name }

// checkFormat3 wants all of that store to be there.
func checkFormat3(t *testing.T, s *Store) {
	t.Helper()
	mustVerify(t, s)
	b := bench{T: t, s: s, o: s.Outbox()}
	reasons, documents := map[string]scheduler.Reason{}, []weburl.Key{}
	b.must(s.Inspect(t.Context(), scheduler.Filter{}, func(k weburl.Key, r scheduler.Record) error {
		reasons[strings.TrimPrefix(r.URL, siteURL(""))] = r.Reason
		if r.Indexed {
			documents = append(documents, k)
		}
		held := slices.Contains([]string{"p1.html", "p4.html", "p5.html"}, strings.TrimPrefix(r.URL, siteURL("")))
		if (r.Deletion == scheduler.DeletionHeld) != held || r.Gone || r.Misses != 0 {
			t.Errorf("record %+v", r)
		}
		return nil
	}))
	missing := []string{"absent.html", "p1.html", "p2.html", "p3.html", "p4.html", "p5.html", "p6.html"}
	want := map[string]scheduler.Reason{"": 0, "new.html": 0, "p7.html": 0, "p8.html": 0, "p9.html": 0, "p10.html": 0, "p11.html": 0, "p12.html": 0}
	for _, name := range missing {
		want[name] = scheduler.ReasonNotFound
	}
	if d := cmp.Diff(want, reasons); d != "" {
		t.Errorf("reasons (-want +got):\n%s", d)
	}
	docs, err := s.Documents(t.Context(), parse(t, siteURL("")).HostKey())
	b.must(err)
	if d := cmp.Diff(scheduler.HostDocuments{Count: 11, Sample: documents}, docs); d != "" {
		t.Errorf("documents (-want +got):\n%s", d)
	}
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2, Held: 3})
	checkFormat3Outbox(b)
}

func checkFormat3Outbox(b bench) {
	b.Helper()
	var held []string
	b.must(eachDeletion(b.Context(), b.s, func(e push.Entry, d scheduler.StoredDeletion) error {
		if d.State != scheduler.DeletionHeld || d.Hold != scheduler.HeldByBrake || d.Reason != scheduler.ReasonNotFound || d.Text != "404 Not Found" ||
			d.At.IsZero() || !d.Again.IsZero() || len(e.Body) == 0 {
			b.Errorf("deletion %+v with body %q", d, e.Body)
		}
		held = append(held, d.URL)
		return nil
	}))
	if d := cmp.Diff([]string{siteURL("p1.html"), siteURL("p5.html"), siteURL("p4.html")}, held); d != "" {
		b.Errorf("held (-want +got):\n%s", d)
	}
	entries, err := b.o.Entries(b.Context(), 0, 10, 1<<20)
	b.must(err)
	if len(entries) != 2 || entries[0].URL != siteURL("") || entries[1].URL != siteURL("new.html") || !strings.Contains(string(entries[1].Body), "beech") {
		b.Errorf("orders that wait: %+v", entries)
	}
}

func TestFormat3(t *testing.T) {
	dir := unpackFormat3(t)
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, scheduler.ErrUpgrade) || !strings.Contains(err.Error(), "sextant run") {
		t.Fatalf("Open for reading: %v, want ErrUpgrade and what to do", err)
	}
	backup := backupOf(t, dir)
	restored := filepath.Join(t.TempDir(), "restored")
	if r, err := Restore(t.Context(), restored, backup, quick); err != nil || r.Faults > 0 || r.Orders != 5 || r.URLs != 15 {
		t.Fatalf("Restore: %+v, %v", r, err)
	}
	for _, dir := range []string{dir, restored} {
		s := settled(t, openStore(t, dir, quick))
		checkFormat3(t, s)
		closeStore(t, s)
		s = openStore(t, dir, Options{ReadOnly: true})
		checkFormat3(t, s)
		closeStore(t, s)
		s = openStore(t, dir, quick)
		if n, err := release(t.Context(), s, scheduler.DeletionFilter{Reason: scheduler.ReasonNotFound}); n != 3 || err != nil {
			t.Errorf("release: %d, %v", n, err)
		}
		if counts, err := s.Counts(t.Context()); err != nil || counts.Indexed != 8 || counts.Outbox != (scheduler.OutboxCounts{Waiting: 5}) {
			t.Errorf("after the release: %+v, %v", counts, err)
		}
		mustVerify(t, s)
		closeStore(t, s)
	}
}

// TestUpgradeEndedEarly: an upgrade that a process did not finish is done again by the next
// one, wherever it ended.
func TestUpgradeEndedEarly(t *testing.T) {
	for _, point := range []string{atUpgradeHeld, atUpgraded} {
		dir := unpackFormat3(t)
		for range 2 {
			endUpgradeAt(t, dir, point)
		}
		if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, scheduler.ErrUpgrade) {
			t.Fatalf("Open for reading after half an upgrade: %v", err)
		}
		s := openStore(t, dir, quick)
		checkFormat3(t, s)
		closeStore(t, s)
	}
}

// endUpgradeAt begins an upgrade and ends it at a point.
func endUpgradeAt(t *testing.T, dir, point string) {
	t.Helper()
	endUpgrade(t, dir, point, func(s *Store) error { return s.start() })
}

// endUpgrade ends what upgrade does at a point.
func endUpgrade(t *testing.T, dir, point string, upgrade func(*Store) error) {
	t.Helper()
	type ended struct{}
	db, err := openBadger(dir, Options{Durability: OS, MemtableBytes: MinMemtableBytes, Logger: discard()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != (ended{}) {
			t.Fatalf("it did not reach %s: %v", point, p)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		// A process that dies leaves no mark of having closed the store.
		if err := os.Remove(filepath.Join(dir, badgerfiles.ClosedName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}()
	s := &Store{db: db, dir: dir, log: discard(), closing: closing{quit: make(chan struct{})}}
	s.at = func(at string) {
		if at == point {
			panic(ended{})
		}
	}
	t.Error(upgrade(s))
}

// Held deletions of URLs that are forgotten, or that have no document, are not kept.
func TestUpgradeDropsHeld(t *testing.T) {
	dir := unpackFormat3(t)
	db, err := openBadger(dir, Options{Durability: OS, MemtableBytes: MinMemtableBytes, Logger: discard()})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{db: db, dir: dir, log: discard(), closing: closing{quit: make(chan struct{})}}
	c, _, err := s.readMeta()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"p1.html", "p4.html"} {
		k := parse(t, siteURL(name)).Key()
		rec, err := s.Lookup(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		c.Remove(&rec)
		put(t, s, record.URLKey(k), nil)
		if i == 0 {
			put(t, s, record.TimedKey(rec.NextAt, k), nil)
			continue
		}
		rec.Indexed = false
		c.Add(&rec)
		put(t, s, record.URLKey(k), record.Append(nil, &rec))
	}
	put(t, s, record.CountersKey(), c.Encode()[:len(c.Encode())-1])
	if err := errors.Join(db.Close(), os.Remove(filepath.Join(dir, badgerfiles.ClosedName)), os.Remove(filepath.Join(dir, knownFile))); err != nil {
		t.Fatal(err)
	}
	var words strings.Builder
	b := bench{T: t, s: settled(t, openStore(t, dir, Options{Durability: OS, Logger: textLogger(&words)}))}
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2, Held: 1})
	if !strings.Contains(words.String(), "held deletions are dropped") {
		t.Errorf("the log says nothing of it: %s", words.String())
	}
	mustVerify(t, b.s)
}

// TestUpgradeOfManyHosts: documents of more hosts than are kept in memory are counted, too.
func TestUpgradeOfManyHosts(t *testing.T) {
	b := newBench(t, "x")
	const hosts, pages = 7, 40
	want := map[weburl.HostKey]scheduler.HostDocuments{}
	for i := range pages {
		b.crawl(fmt.Sprintf("http://h%d.test/%d", i%hosts, i), document("d"))
	}
	b.crawl("http://h0.test/none", nil)
	for h := range hosts {
		key := parse(t, fmt.Sprintf("http://h%d.test/", h)).HostKey()
		docs, err := b.s.Documents(t.Context(), key)
		b.must(err)
		want[key] = docs
	}
	for _, most := range []int{1, 3, hosts, 100} {
		b.must(b.s.db.DropPrefix([]byte{record.KindDocs}))
		if n, err := b.s.upgradeDocuments(most); n != hosts || err != nil {
			t.Errorf("%d at once: %d hosts, %v", most, n, err)
		}
		got := map[weburl.HostKey]scheduler.HostDocuments{}
		for key := range maps.Keys(want) {
			docs, err := b.s.Documents(context.Background(), key)
			b.must(err)
			got[key] = docs
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d at once (-want +got):\n%s", most, d)
		}
	}
}
