package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// encodeHost1 writes a host state of format 1.
func encodeHost1(h scheduler.HostState) []byte {
	b := appendString([]byte{1}, h.Origin)
	b = binary.AppendVarint(binary.AppendVarint(b, int64(h.Backoff)), int64(h.Errors))
	return appendTime(b, h.NextAt)
}

// makeFormat1 makes a store as the programs of format 1 did: no queue states, no notes,
// no name of a file, host states and counters in their old forms.
func makeFormat1(t *testing.T) (dir string, places map[scheduler.Place]uint64) {
	t.Helper()
	dir = t.TempDir()
	s := openStore(t, dir, Options{Durability: OS, MemtableBytes: MinMemtableBytes})
	var links []scheduler.Link
	for i := range 300 {
		l := linkTo(t, fmt.Sprintf("http://h%d.test/%d", i%7, i))
		l.Fifo = scheduler.Source(i % 3)
		links = append(links, l)
	}
	if _, _, err := s.Add(t.Context(), links, false); err != nil {
		t.Fatal(err)
	}
	for i, l := range links[:30] { // gaps at the beginning of the queues
		rec, err := s.Lookup(t.Context(), l.URL.Key())
		if err != nil {
			t.Fatal(err)
		}
		c := scheduler.Completion{Key: l.URL.Key(), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec, Forget: i%2 == 0}
		c.Next.State, c.Next.Class = scheduler.AtRest, scheduler.OK
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
	}
	places = placesOf(t, s)
	singleQueues(t, s)
	closeStore(t, s)
	// What the program of format 1 left had no mark of how it was closed.
	if err := os.RemoveAll(filepath.Join(dir, "CLOSED")); err != nil {
		t.Fatal(err)
	}
	db, err := badger.Open(badgerOptions(dir, Options{Logger: discard(), MemtableBytes: MinMemtableBytes}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	s.db, s.quit = db, make(chan struct{})
	for _, kind := range []byte{record.KindPlace, record.KindRemoval, 's'} {
		if err := db.DropPrefix([]byte{kind}); err != nil {
			t.Fatal(err)
		}
	}
	c := *s.committed.Load()
	c.Removals, c.Segment, c.SegmentEnd, c.Clean = 0, 0, 0, true
	counters1 := c.Encode()
	put(t, s, record.CountersKey(), counters1[:len(counters1)-4])
	put(t, s, record.FormatKey(), []byte{1})
	put(t, s, record.HostKey(links[0].URL.HostKey()), encodeHost1(host1))
	return dir, places
}

// singleQueues gives each URL in a queue a key of its own, as formats 1 to 4 did.
func singleQueues(t *testing.T, s *Store) {
	t.Helper()
	var edits []edit
	for p := range placesOf(t, s) {
		urls, err := s.Queue(t.Context(), p, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range urls {
			edits = append(edits, edit{key: singleKey(p, w.Seq), value: w.Key[:]})
		}
	}
	if err := s.db.DropPrefix([]byte{record.KindQueue}); err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		put(t, s, e.key, e.value)
	}
}

func singleKey(p scheduler.Place, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(record.QueuePrefix(p), seq)
}

var host1 = scheduler.HostState{Origin: "http://h0.test", NextAt: time.Unix(5, 6).UTC(), Backoff: time.Minute, Errors: 3}

func placesOf(t *testing.T, s *Store) map[scheduler.Place]uint64 {
	t.Helper()
	got := map[scheduler.Place]uint64{}
	if err := s.Places(t.Context(), func(p scheduler.Place, n uint64) error { got[p] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestUpgrade(t *testing.T) {
	dir, places := makeFormat1(t)
	_, err := Open(dir, Options{ReadOnly: true})
	if !errors.Is(err, scheduler.ErrUpgrade) || !strings.Contains(err.Error(), "sextant run") {
		t.Fatalf("Open for reading: %v, want ErrUpgrade and what to do", err)
	}
	var words strings.Builder
	s := settled(t, openStore(t, dir, Options{Durability: OS, Logger: textLogger(&words)}))
	if !strings.Contains(words.String(), "upgraded") {
		t.Errorf("the log says nothing of the upgrade: %s", words.String())
	}
	if d := cmp.Diff(places, placesOf(t, s)); d != "" {
		t.Errorf("places (-want +got):\n%s", d)
	}
	if !s.ClosedCleanly() {
		t.Error("not closed cleanly")
	}
	h, err := s.Host(t.Context(), linkTo(t, "http://h0.test/").URL.HostKey())
	if d := cmp.Diff(host1, h); err != nil || d != "" {
		t.Errorf("%v, host (-want +got):\n%s", err, d)
	}
	mustVerify(t, s)
	closeStore(t, s)
	s = openStore(t, dir, Options{Durability: OS, ReadOnly: true})
	mustVerify(t, s)
}

// TestUpgradeKilled: an upgrade that a process did not finish is done again by the next
// one, also if the old program has changed queues in between.
func TestUpgradeKilled(t *testing.T) {
	dir, places := makeFormat1(t)
	type killed struct{}
	func() {
		defer func() {
			if p := recover(); p != (killed{}) {
				t.Fatalf("it did not reach the point: %v", p)
			}
		}()
		var db *badger.DB
		o := Options{Durability: OS, MemtableBytes: MinMemtableBytes, Logger: discard()}
		db, err := openBadger(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		s := &Store{db: db, dir: dir, log: discard(), closing: closing{quit: make(chan struct{})}}
		s.at = func(point string) {
			if point == atUpgradePlaces {
				put(t, s, record.PlaceKey(scheduler.Place{Source: 4}), record.Queue{Count: 3, Floor: 1}.Append(nil)) // a queue that is gone
				panic(killed{})
			}
		}
		t.Error(s.start())
	}()
	if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, scheduler.ErrUpgrade) {
		t.Fatalf("Open for reading after half an upgrade: %v", err)
	}
	s := openStore(t, dir, quick)
	if d := cmp.Diff(places, placesOf(t, s)); d != "" {
		t.Errorf("places (-want +got):\n%s", d)
	}
	mustVerify(t, s)
}

// More queues than one transaction holds are upgraded too.
func TestUpgradeOfManyQueues(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{Durability: OS, MemtableBytes: MinMemtableBytes})
	const queues = 6000
	batch := s.db.NewWriteBatch()
	for i := range queues {
		host := weburl.HostKey{byte(i >> 8), byte(i)}
		for seq := range uint64(2) {
			if err := batch.Set(singleKey(scheduler.Place{Source: scheduler.Index, Host: host}, seq+31), make([]byte, record.KeyLen)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := batch.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.upgradeQueues(7); n != 2*queues || err != nil {
		t.Fatalf("%d URLs wait, %v, want %d", n, err, 2*queues)
	}
	if n, err := s.upgradePlaces(); n != queues || err != nil {
		t.Fatalf("%d queues, %v, want %d", n, err, queues)
	}
	for p, n := range placesOf(t, s) {
		if n != 2 {
			t.Errorf("place %v: %d, want 2", p, n)
		}
	}
	if n := len(placesOf(t, s)); n != queues {
		t.Errorf("%d queues have a state, want %d", n, queues)
	}
	closeStore(t, s)
}
