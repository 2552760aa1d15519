package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// writeLetters completes a page with links to other partitions and a note for one.
func writeLetters(t *testing.T, s *Store, links int) {
	t.Helper()
	const to = 3
	root := linkTo(t, "http://a.test/")
	if _, _, err := s.Add(t.Context(), []scheduler.Link{root}, true); err != nil {
		t.Fatal(err)
	}
	place := scheduler.Place{Source: root.Fifo, Host: root.URL.HostKey()}
	q, err := s.Queue(t.Context(), place, 0, 1)
	if err != nil || len(q) != 1 {
		t.Fatal(q, err)
	}
	c := scheduler.Completion{Key: q[0].Key, Seq: q[0].Seq, Taken: place, Next: q[0].Record}
	c.Next.State = scheduler.AtRest
	for i := range links {
		c.Links = append(c.Links, linkTo(t, fmt.Sprintf("http://b.test/%d", i)))
		c.Homes = append(c.Homes, scheduler.HomeOf(to))
	}
	c.Links = append(c.Links, linkTo(t, "http://a.test/own"))
	c.Homes = append(c.Homes, scheduler.Here)
	c.Notes = []scheduler.Note{{Name: "n", Value: []byte("v"), Home: scheduler.HomeOf(to)}, {Name: "own", Value: []byte("o")}}
	if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
}

func letters(t *testing.T, s *Store) []scheduler.Letter {
	t.Helper()
	list, err := s.Letters(t.Context(), scheduler.HomeOf(3), 0, 1<<20, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func verifyClean(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Verify(t.Context(), func(f Fault) { t.Error(f) }); err != nil {
		t.Error(err)
	}
}

// TestLetters: links to other partitions are kept with the page, through a restart and a backup, until they are
// delivered; and arrive once.
func TestLetters(t *testing.T) {
	const links = 1200 // more than one step removes
	dir := t.TempDir()
	s := openStore(t, dir, quick)
	writeLetters(t, s, links)
	if _, err := s.Lookup(t.Context(), linkTo(t, "http://b.test/1").URL.Key()); !errors.Is(err, scheduler.ErrNotFound) {
		t.Errorf("a link to another partition is stored here: %v", err)
	}
	closeStore(t, s)
	s = openStore(t, dir, quick)
	verifyClean(t, s)
	list := letters(t, s)
	if len(list) != links+1 || list[links].Note == nil || string(list[links].Note.Value) != "v" {
		t.Fatalf("there are %d letters, want %d", len(list), links+1)
	}
	var backup bytes.Buffer
	if _, err := s.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}

	to := openStore(t, t.TempDir(), quick)
	for i := range 2 { // the second time nothing is new
		is, err := to.Receive(t.Context(), scheduler.Post{From: 1, Letters: list})
		if err != nil || is.Arrived != list[links].Seq || (len(is.Places) == 1) != (i == 0) {
			t.Fatalf("Receive = %+v, %v", is, err)
		}
	}
	if is, err := to.Receive(t.Context(), scheduler.Post{From: 1, Letters: []scheduler.Letter{{Seq: 1 << 40, Link: list[0].Link}}, After: 1 << 39}); err != nil || is.Arrived != list[links].Seq {
		t.Errorf("letters behind some that have not arrived: %+v, %v", is, err)
	}
	if v, err := to.Value(t.Context(), "n"); string(v) != "v" || err != nil {
		t.Errorf("the note is %q, %v", v, err)
	}
	if c, err := to.Counts(t.Context()); c.Known != links || err != nil {
		t.Errorf("%d URLs arrived, %v", c.Known, err)
	}
	verifyClean(t, to)

	if err := s.Delivered(t.Context(), scheduler.HomeOf(3), list[links-1].Seq); err != nil {
		t.Fatal(err)
	}
	if left := letters(t, s); len(left) != 1 || left[0].Note == nil {
		t.Errorf("%d letters are left, want the note", len(left))
	}
	verifyClean(t, s)
	writeLetters(t, s, 1)
	if left := letters(t, s); len(left) != 3 || left[2].Seq <= list[links].Seq {
		t.Errorf("new letters: %+v", left)
	}
	closeStore(t, s)

	restored := t.TempDir() + "/restored"
	if _, err := Restore(t.Context(), restored, bytes.NewReader(backup.Bytes()), quick); err != nil {
		t.Fatal(err)
	}
	again := quick
	again.FirstOrder = 1 << 50
	s = openStore(t, restored, again)
	writeLetters(t, s, 1)
	if left := letters(t, s); len(left) != links+3 || left[links+2].Seq <= 1<<50 {
		t.Errorf("%d letters after a restore, want %d, the last above the clock", len(left), links+3)
	}
}

// TestVerifyLetters: letters that contradict what is kept of them are found.
func TestVerifyLetters(t *testing.T) {
	for _, c := range []struct {
		what, want string
		damage     func(txn *badger.Txn, p *record.Piles) error
	}{
		{"one is missing", "should wait for partition 3, but there are", func(txn *badger.Txn, _ *record.Piles) error {
			return txn.Delete(record.LetterKey(scheduler.HomeOf(3), 1))
		}},
		{"none is told of", "which is not told of", func(txn *badger.Txn, p *record.Piles) error {
			return txn.Set(record.PilesKey(), (&record.Piles{Last: p.Last}).Append(nil))
		}},
		{"its number", "above the highest number", func(txn *badger.Txn, p *record.Piles) error {
			p.Last = 1
			return txn.Set(record.PilesKey(), p.Append(nil))
		}},
		{"below the floor", "should have been removed", func(txn *badger.Txn, p *record.Piles) error {
			p.To[0].Removed = 2
			return txn.Set(record.PilesKey(), p.Append(nil))
		}},
		{"nothing is kept", "how many is not stored", func(txn *badger.Txn, _ *record.Piles) error { return txn.Delete(record.PilesKey()) }},
		{"unreadable", "key \"l", func(txn *badger.Txn, _ *record.Piles) error {
			return txn.Set(record.LetterKey(scheduler.HomeOf(3), 1), []byte("?"))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := openStore(t, t.TempDir(), quick)
			writeLetters(t, s, 2)
			err := s.db.Update(func(txn *badger.Txn) error {
				p, err := s.pilesOf(txn)
				if err != nil {
					return err
				}
				return c.damage(txn, &p)
			})
			if err != nil {
				t.Fatal(err)
			}
			var faults []string
			if _, err := s.Verify(t.Context(), func(f Fault) { faults = append(faults, f.Words) }); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(faults, "\n"), c.want) {
				t.Errorf("faults %q, want %q", faults, c.want)
			}
		})
	}
}

// TestLetterWithItem: a document that a letter brings is an order once; one of an older reading of its feed, or in the smallest store, changes nothing else.
func TestLetterWithItem(t *testing.T) {
	from := openStore(t, t.TempDir(), Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1})
	to := openStore(t, t.TempDir(), quick)
	feed := linkTo(t, "http://b.test/item")
	feed.Kind, feed.Referrer = scheduler.KindItem, "http://a.test/feed"
	leave := func(hash byte, at time.Time) {
		feed.Item = &scheduler.Item{Document: scheduler.Document{Body: bytes.Repeat([]byte{hash}, scheduler.ItemMost), Hash: [16]byte{hash}, Source: "s"}, At: at}
		if err := from.Leave(t.Context(), []scheduler.Link{feed}, []scheduler.Home{scheduler.HomeOf(3)}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Unix(1e9, 0)
	for i, c := range []struct {
		hash, want byte
		at         time.Time
	}{{1, 1, now}, {2, 2, now.Add(time.Hour)}, {3, 2, now.Add(time.Minute)}, {2, 2, now.Add(2 * time.Hour)}} {
		leave(c.hash, c.at)
		verifyClean(t, from)
		for range 2 {
			if _, err := to.Receive(t.Context(), scheduler.Post{From: 1, Letters: letters(t, from)}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := to.Lookup(t.Context(), feed.URL.Key())
		if err != nil || r.Hash[0] != c.want || !r.Indexed || r.State != scheduler.AtRest {
			t.Errorf("letter %d: %+v, %v; want document %d", i, r, err, c.want)
		}
		entries, err := to.Outbox().Entries(t.Context(), 0, 10, 1<<20)
		if err != nil || len(entries) != 1 || entries[0].Body[0] != c.want {
			t.Errorf("letter %d: %d orders, %v; want document %d", i, len(entries), err, c.want)
		}
	}
	verifyClean(t, to)
	closeStore(t, from)
	closeStore(t, to)
}
